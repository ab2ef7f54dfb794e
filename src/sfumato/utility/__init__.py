"""Measures of information loss."""

ORDER = (
    "sse", "moments", "ncp", "class_metrics", "precision", "mutual_information", "degradation",
    "entropy_loss", "classification", "ambiguity", "diameter", "set_utility", "suppressed", "dgh",
    "bayes_loss", "distributions", "biases", "information_loss", "probabilistic", "matrices",
    "categorical_distance", "ctbil", "noisy_channel", "clusterings", "prediction", "queries",
    "validity", "median_differences", "kernel_pca",
)  # fmt: skip
