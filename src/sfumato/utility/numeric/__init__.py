"""Numbers: sums of squares, moments, and the matrices that describe a table."""

ORDER = ("moments", "biases", "matrices")
