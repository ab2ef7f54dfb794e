"""Measures of disclosure risk."""

ORDER = ("classes", "linkage", "attributes", "participation", "score")
