"""Masking: each file holds one method, or one family of methods, with its declaration."""

ORDER = (
    "identifiers", "safe_harbor", "sampling", "recoding", "coding", "suppression", "rare_values",
    "random_suppression", "noise", "swapping", "spectral", "microaggregation", "individual_ranking",
    "crest", "pram", "rounding", "multivariate_rounding", "resampling", "compression",
    "distribution_distortion", "camouflage", "multiple_imputation", "synthetic",
    "univariate_synthesis", "table_synthesis", "km_suppression", "centroid", "generalize",
    "intersect", "micro_perturbation", "r_microhybrid",
)  # fmt: skip
