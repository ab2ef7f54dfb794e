"""Whole distributions, of one column or of all together."""

ORDER = ("distance", "marginals", "medians", "kernel_pca")
