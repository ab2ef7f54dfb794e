"""Katirai's ambiguators: sets of records that grow, or are divided."""

ORDER = ("greedy", "dividing")
