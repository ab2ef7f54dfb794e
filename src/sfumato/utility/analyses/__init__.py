"""What analysts do with a table: predict, cluster, ask, and test."""

ORDER = ("degradation", "bayes_loss", "clusterings", "prediction", "queries", "validity")
