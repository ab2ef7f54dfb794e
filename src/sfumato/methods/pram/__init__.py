"""The post-randomization method: its matrices, the columns it acts on, and what can be undone."""
