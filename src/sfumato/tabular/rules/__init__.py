"""Rules that find sensitive cells."""

ORDER = ("minimum_frequency", "dominance", "p_percent", "prior_posterior", "request", "stated")
