"""Generalized and suppressed values: how much of its domain each of them leaves open."""

ORDER = ("ncp", "precision", "mutual_information", "payout")
