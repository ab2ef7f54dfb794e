"""Set-valued records: rows of items, and the searches on them."""
