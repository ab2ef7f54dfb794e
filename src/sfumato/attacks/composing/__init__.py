"""Several releases of the same people, and tables of them, put together."""

ORDER = ("composition",)
