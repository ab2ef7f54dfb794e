"""Swapping: values change places between records, so that every column keeps its values exactly.

One method to a file; base.py and blocks.py hold what they share.
"""

from .rank import RankSwap as RankSwap

ORDER = (
    "rank", "p_distribution", "p_buckets", "similar_value", "ranked_column", "core",
    "data_shuffling", "household", "within",
)  # fmt: skip
