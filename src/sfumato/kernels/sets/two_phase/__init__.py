"""Sets merged into groups, then split."""

from __future__ import annotations

from ._search import two_phase as two_phase
