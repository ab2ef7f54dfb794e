"""A new release beside those that are public already: what they tell together, and what to do."""
