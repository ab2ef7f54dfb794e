"""Masking: each file holds one method, or one family of methods, with its declaration."""

ORDER = (
    "identifiers", "sampling", "recoding", "suppression", "noise", "swapping", "spectral",
    "microaggregation", "numeric", "crest", "pram", "synthetic", "verbs",
)  # fmt: skip
