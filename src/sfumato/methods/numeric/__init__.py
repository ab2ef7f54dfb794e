"""Numbers masked column by column: averaged, resampled, compressed, drawn from a fitted curve."""

ORDER = ("individual_ranking", "resampling", "compression", "distortion")
