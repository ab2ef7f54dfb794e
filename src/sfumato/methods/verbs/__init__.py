"""Verbs: what is published for each group that a search found."""

ORDER = ("centroid", "generalize", "micro_perturbation", "r_microhybrid")
