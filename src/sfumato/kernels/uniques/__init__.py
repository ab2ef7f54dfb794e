"""Sets of columns that tell records apart: which records each makes unique, and how many pairs."""
