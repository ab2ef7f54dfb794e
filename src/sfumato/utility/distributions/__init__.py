"""Whole distributions, of one column or of all together."""

ORDER = ("distance", "median_differences", "kernel_pca")
