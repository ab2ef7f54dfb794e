"""A red team: each attack is given what an intruder would have, and tries."""

ORDER = (
    "matching", "ranking", "svd_filtering", "minimal_suppression", "nearest_centroid",
    "bayes_inference", "intersection", "guessing", "classes", "membership", "mechanism",
    "composing", "cells",
)  # fmt: skip
