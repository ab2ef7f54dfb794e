"""Measures of information loss."""

ORDER = ("numeric", "generalized", "classes", "sets", "distributions", "categories", "analyses")
