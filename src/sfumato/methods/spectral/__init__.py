ORDER = ("svd_swap", "pica", "rhs")
