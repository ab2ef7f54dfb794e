"""Numbers: sums of squares, moments, and the matrices that describe a table."""

ORDER = ("sse", "moments", "biases", "matrices")
