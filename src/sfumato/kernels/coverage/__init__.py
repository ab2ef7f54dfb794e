"""Which records a generalized record covers."""
