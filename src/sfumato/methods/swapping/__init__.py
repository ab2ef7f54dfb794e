"""Swapping: values change places between records, so that every column keeps its values exactly.

One method to a file; base.py and blocks.py hold what they share.
"""

from .rank import RankSwap as RankSwap
