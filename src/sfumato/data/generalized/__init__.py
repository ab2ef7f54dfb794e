"""What generalized values tell: places, costs, information."""
