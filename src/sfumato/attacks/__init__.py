"""A red team: each attack is given what an intruder would have, and tries."""
