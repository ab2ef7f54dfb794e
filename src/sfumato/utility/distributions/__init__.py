"""Whole distributions, of one column or of all together."""

ORDER = ("distance", "medians", "kernel_pca")
