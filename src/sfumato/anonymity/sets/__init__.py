"""Searches for set-valued records: which items can be published of each person (Podgursky 2011)."""

ORDER = (
    "mondrian", "cluster", "iter_cluster", "two_phase", "refine", "k1_cluster", "k1_top_down",
    "kk_cluster",
)  # fmt: skip
