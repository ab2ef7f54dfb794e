"""Swapping: values change places between records, so that every column keeps its values exactly.

base.py holds what they share.
"""

from .ranks import RankSwap as RankSwap

ORDER = (
    "ranks",
    "block_ranks",
    "similar_value",
    "ranked_column",
    "data_shuffling",
    "household",
    "targeted",
    "groups",
)
