"""Trees: nodes above values, how they come about, and how a plan declares them."""

ORDER = ("sources", "redaction", "bins", "dates", "orders")
