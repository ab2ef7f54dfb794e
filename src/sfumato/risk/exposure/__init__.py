"""Whether what is about to be written finds people, whatever the roles of its columns say."""

ORDER = ("exposure",)
