"""Which columns make people unique: the smallest sets that do, and how well a set tells apart."""

ORDER = ("suda", "separating")
