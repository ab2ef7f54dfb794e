"""Tables, their schema, and the ways in and out of arrays and files."""
