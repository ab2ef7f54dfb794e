"""Criteria on the confidential values of each class."""

ORDER = (
    "l_diversity", "t_closeness", "alpha_k", "p_sensitive", "p_alpha", "beta_likeness",
    "delta_disclosure",
)  # fmt: skip
