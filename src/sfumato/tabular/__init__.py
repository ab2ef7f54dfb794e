"""Tables with totals: cubes, sensitive cells, protection, and the audit of what an attacker can
still work out."""

ORDER = ("rules", "suppression", "perturbation")
