"""Microaggregation that spreads the confidential classes inside each group (CREST)."""

ORDER = ("camp_crest", "crest", "restricted")
