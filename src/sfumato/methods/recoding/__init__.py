"""Values made coarser: levels of detail, codes for extremes, rounding, intervals."""

ORDER = ("global_recoding", "top_bottom", "rounding", "camouflage", "km_generalization")
