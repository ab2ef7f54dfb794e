"""Synthetic data: records, or some of their values, drawn from a model of the originals."""

ORDER = (
    "ipso", "latin_hypercube", "gaussian_copula", "maximum_entropy", "moment_preserving",
    "partially_synthetic", "condensation",
)  # fmt: skip
