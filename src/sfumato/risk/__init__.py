"""Measures of disclosure risk."""

ORDER = ("exposure", "classes", "individual", "linkage", "attributes", "participation", "score")
