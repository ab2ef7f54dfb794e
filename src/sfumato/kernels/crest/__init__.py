"""CREST: clusters that keep confidential classes spread."""

from __future__ import annotations

from ._divergence import weighted_jsd as weighted_jsd
from ._search import central as central
from ._search import crest_tree as crest_tree
from ._spread import exchange as exchange
