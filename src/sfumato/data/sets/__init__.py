"""Set-valued columns: rows of items, packed and enumerated."""
