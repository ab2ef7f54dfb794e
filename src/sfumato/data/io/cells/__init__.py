"""From the text of cells to typed columns; what can be read in two ways is noted."""
