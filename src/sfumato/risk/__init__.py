"""Measures of disclosure risk."""

ORDER = (
    *("exposure", "classes", "attacker_economics", "linkage", "attributes", "participation"),
    "score",
)
