"""Measures of disclosure risk."""

ORDER = ("exposure", "classes", "linkage", "attributes", "participation", "score")
