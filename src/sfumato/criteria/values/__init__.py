"""Criteria on the confidential values of each class."""

ORDER = ("l_diversity", "t_closeness", "sensitive", "likeness")
