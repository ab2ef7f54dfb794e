"""Searches for partitions in which every group holds at least k records."""

ORDER = (
    "full_domain", "j_anonymity", "local_recoding", "k_member", "certainty", "greedy", "beam",
    "k_similar", "farthest_pair", "tabu", "annealing", "genetic", "sets", "mondrian",
)  # fmt: skip
