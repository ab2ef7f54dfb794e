"""Synthetic data: records, or some of their values, drawn from a model of the originals."""
