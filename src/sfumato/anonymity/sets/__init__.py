"""Searches for set-valued records: which items can be published of each person (Podgursky 2011)."""

ORDER = ("mondrian", "top_down", "cluster", "two_phase", "refine", "k1", "kk_cluster")
