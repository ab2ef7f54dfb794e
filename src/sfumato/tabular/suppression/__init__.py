"""Hiding cells so that the sensitive ones cannot be worked out."""

ORDER = ("optimal", "modular", "sequential", "hypercube", "intervals")
