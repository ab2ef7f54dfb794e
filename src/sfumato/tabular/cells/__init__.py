"""Tables with totals: cells, relations, cubes, and where they come from."""
