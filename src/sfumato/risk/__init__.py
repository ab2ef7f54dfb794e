"""Measures of disclosure risk."""

ORDER = (
    *("exposure", "classes", "individual", "uniqueness", "attacker_economics"),
    *("linkage", "attributes", "participation", "score"),
)
