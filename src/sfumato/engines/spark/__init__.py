"""Spark: parts of the records in its partitions, kernels in its Python workers."""

from .engine import Spark
from .relation import SparkRelation

__all__ = ["Spark", "SparkRelation"]
