"""Mondrian on sets: cuts by item."""

from __future__ import annotations

from ._search import set_mondrian as set_mondrian
