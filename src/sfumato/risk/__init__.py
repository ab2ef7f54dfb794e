"""Measures of disclosure risk."""

ORDER = ("exposure", "classes", "uniqueness", "linkage", "attributes", "participation", "score")
