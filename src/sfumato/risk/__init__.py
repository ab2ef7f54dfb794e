"""Measures of disclosure risk."""

ORDER = (
    *("exposure", "classes", "individual", "log_linear", "uniqueness", "attacker_economics"),
    *("linkage", "attributes", "participation", "score"),
)
