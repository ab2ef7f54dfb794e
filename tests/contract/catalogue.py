"""How the contract suite builds each registered thing, and what it lets off, with the reason.

A method that needs no parameters needs no line here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sfumato.data.schema import ORDERED
from sfumato.data.table import Table
from sfumato.registry import Entry, entries


def _ordered(table: Table) -> list[str]:
    """The quasi-identifiers with an order; all of them where there is none."""
    quasi = table.schema.quasi
    return [name for name in quasi if table.schema[name].kind in ORDERED] or quasi


Parameters = Callable[[Table], dict[str, Any]]

PARAMETERS: dict[str, Parameters] = {
    "global-recoding": lambda t: {"levels": {t.schema.quasi[0]: 1}},
    "top-bottom-coding": lambda t: {"top_share": 0.1, "bottom_share": 0.1},
    "hash": lambda t: {"columns": t.schema.of_role("identifier") or [t.names[0]]},
    "drop": lambda t: {"columns": t.schema.of_role("identifier") or [t.names[0]]},
    "pseudonymize": lambda t: {"columns": t.schema.of_role("identifier") or [t.names[0]]},
    "core-swap": lambda t: {"core": ["sex" if "sex" in t.names else t.schema.quasi[-1]]},
    "household-swap": lambda t: {"columns": ["zip" if "zip" in t.names else t.schema.quasi[-1]]},
    "l-diversity": lambda t: {"column": t.schema.confidential[0], "at_least": 2},
    "t-closeness": lambda t: {"column": t.schema.confidential[0], "at_most": 0.5},
    "k-anonymity": lambda t: {"k": 2},
    # So few steps that the seed shows: with more, all seeds find the same groups of a small table.
    "refine": lambda t: {"start": "fuzzy", "steps": 2},
    "optimal-univariate": lambda t: {"columns": _ordered(t)[:1]},
    "delaunay": lambda t: {"columns": _ordered(t)[:2]},
    # What an intruder knows of how the release was made; releases of the suite come from searches.
    "likelihood-linkage": lambda t: {"mechanism": {"use": "correlated-noise", "amount": 0.5}},
    # As the paper has it, it promises no k.
    "rhs": lambda t: {"small": "pool"},
    # Its automatic size needs hundreds of people who did not take part.
    "pica": lambda t: {"size": 10},
    "prefix": lambda t: {"lengths": [5, 3]},
    "bins": lambda t: {"edges": [0, 30, 60, 90]},
    "hierarchy": lambda t: {"levels": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]},
}

EXEMPTIONS: dict[tuple[str, str], str] = {}
"""(name, check) -> why the check does not apply. Printed by every run of the suite."""


def parameters(entry: Entry, table: Table) -> dict[str, Any]:
    """Parameters that suit the table."""
    if entry.kind in ("measure", "attack") and entry.name not in PARAMETERS:
        return dict(entry.load().example)
    return PARAMETERS.get(entry.name, lambda t: {})(table)


def each(*kinds: str) -> Any:
    """Parametrize a test over everything registered of these kinds."""
    found = [entry for kind in kinds for entry in entries(kind)]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


def unless_exempt(entry: Entry, check: str) -> None:
    """Skip what the list lets off, with its reason."""
    reason = EXEMPTIONS.get((entry.name, check))
    if reason is not None:
        pytest.skip(f"exempt: {reason}")
