"""Who is in the data: attacks that claim of people that they are, or are not."""

ORDER = ("closest_record", "density_ratio", "tracing", "likelihood_ratio")
