"""Clustering sets, once and iterated."""

from __future__ import annotations

from ._cluster import cluster_sets as cluster_sets
from ._iter_cluster import iter_cluster_sets as iter_cluster_sets
