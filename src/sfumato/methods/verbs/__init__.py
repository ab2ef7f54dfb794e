"""Verbs: what is published for each group that a search found."""

ORDER = ("centroid", "generalize", "drawn")
