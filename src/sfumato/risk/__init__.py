"""Measures of disclosure risk."""

ORDER = (
    *("exposure", "classes", "uniqueness", "attacker_economics", "linkage", "attributes"),
    *("participation", "score"),
)
