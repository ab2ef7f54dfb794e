"""Bases, independent components and clusters of points."""
