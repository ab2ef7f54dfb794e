"""What a release must satisfy, recounted from the release alone.

Nothing here shares code with the methods and searches whose promises it checks.
"""

ORDER = (
    "k_anonymity", "l_diversity", "t_closeness", "alpha_k", "p_sensitive", "p_alpha",
    "beta_likeness", "delta_disclosure", "delta_presence", "k_map", "average_risk",
    "population_uniqueness", "k1", "kk", "km",
)  # fmt: skip
