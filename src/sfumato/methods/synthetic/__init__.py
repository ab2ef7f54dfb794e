"""Synthetic data: records, or some of their values, drawn from a model of the originals."""

ORDER = (
    "multiple_imputation", "ipso", "ranks", "model_mixture", "maximum_entropy", "moment_preserving",
    "partially_synthetic", "univariate", "tables", "sequential_trees", "condensation",
)  # fmt: skip
