"""Measures of disclosure risk."""

ORDER = (
    "classes", "linkage", "second_closest", "class_disclosure", "dbrl", "assignment_linkage",
    "likelihood_linkage", "interval_disclosure", "probabilistic", "rank_linkage", "prediction",
    "non_participation", "isolation", "beliefs", "uniqueness", "score",
)  # fmt: skip
