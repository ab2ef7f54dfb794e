"""Measures of disclosure risk."""

ORDER = ("exposure", "classes", "log_linear", "linkage", "attributes", "participation", "score")
