"""How the contract suite builds each registered thing, and what it lets off, with the reason.

A method that needs no parameters needs no line here.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.data.schema import ORDERED
from sfumato.data.table import Table
from sfumato.registry import Entry, entries


def _ordered(table: Table) -> list[str]:
    """The quasi-identifiers with an order; all of them where there is none."""
    quasi = table.schema.quasi
    return [name for name in quasi if table.schema[name].kind in ORDERED] or quasi


_FOLDER = tempfile.TemporaryDirectory(prefix="sfumato-contract-")


def people_file(t: Table) -> str:
    """The people of a table as a file; those of the ordinary one where it holds labels."""
    from tests.contract.tables import ordinary

    given = ordinary() if any(column.generalized for column in t.schema) else t
    number = hashlib.sha256(given.frame.write_json().encode()).hexdigest()[:16]
    path = Path(_FOLDER.name) / f"{number}.parquet"
    if not path.exists():
        given.frame.write_parquet(path)
    return str(path)


Parameters = Callable[[Table], dict[str, Any]]

_LISTED = [
    *(1, 2, 40, 80, "a", "b", "c", "02139", "02141", "10001"),
    *("1950-01-31", "1978-02-13", "2001-12-01"),
]
"""The values of all domains that posets are bound to."""

PARAMETERS: dict[str, Parameters] = {
    "global-recoding": lambda t: {"levels": {t.schema.quasi[0]: 1}},
    "top-bottom-coding": lambda t: {"top_share": 0.1, "bottom_share": 0.1},
    "hash": lambda t: {"columns": t.schema.of_role("identifier") or [t.names[0]]},
    "drop": lambda t: {"columns": t.schema.of_role("identifier") or [t.names[0]]},
    "pseudonymize": lambda t: {"columns": t.schema.of_role("identifier") or [t.names[0]]},
    "core-swap": lambda t: {"core": ["sex" if "sex" in t.names else t.schema.quasi[-1]]},
    "household-swap": lambda t: {"columns": ["zip" if "zip" in t.names else t.schema.quasi[-1]]},
    "targeted-swap": lambda t: {"columns": ["zip" if "zip" in t.names else t.schema.quasi[-1]]},
    "l-diversity": lambda t: {"column": t.schema.confidential[0], "at_least": 2},
    "t-closeness": lambda t: {"column": t.schema.confidential[0], "at_most": 0.5},
    "k-anonymity": lambda t: {"k": 2},
    "alpha-k-anonymity": lambda t: {"column": t.schema.confidential[-1], "k": 2, "alpha": 0.9},
    "p-sensitive": lambda t: {"column": t.schema.confidential[-1], "k": 2, "p": 2},
    "p-alpha-sensitive": lambda t: {
        "column": t.schema.confidential[-1],
        "k": 2,
        "p": 2,
        "alpha": 0.9,
    },
    "beta-likeness": lambda t: {"column": t.schema.confidential[-1], "at_most": 2.0},
    "delta-disclosure": lambda t: {"column": t.schema.confidential[-1], "at_most": 2.0},
    "delta-presence": lambda t: {"at_most": 1.0, "population": people_file(t)},
    "k-map": lambda t: {"k": 2, "share": 0.1},
    "no-attack": lambda t: {"gain": 2.0, "cost": 1.0},
    "average-risk": lambda t: {"at_most": 0.5},
    "population-uniqueness": lambda t: {"at_most": 0.5, "share": 0.1},
    "k1-anonymity": lambda t: {"k": 2, "original": people_file(t)},
    "km-anonymity": lambda t: {"k": 2},
    "kk-anonymity": lambda t: {"k": 2, "original": people_file(t)},
    # The people themselves as an earlier release: what an intruder could know at most.
    "release-intersection": lambda t: {
        "given": people_file(t),
        "column": (t.schema.confidential or t.names)[-1],
    },
    "composition": lambda t: {"given": [people_file(t)]},
    # So few steps that the seed shows: with more, all seeds find the same groups of a small table.
    "refine": lambda t: {"start": "fuzzy", "steps": 2},
    "annealing": lambda t: {"steps": 6},
    "k1-cluster": lambda t: {"sample": 0.5},
    "set-refine": lambda t: {"start": "set-cluster", "steps": 2},
    # A time would make it depend on the machine; and its groups are too alike in sex as well.
    "local-recoding": lambda t: {
        "steps": 2,
        "importance": {n: 0.01 for n in t.names if n == "sex"},
    },
    # Else their groups are so alike in sex that no swap within them would show.
    "certainty-bottom-up": lambda t: {"importance": {n: 0.01 for n in t.names if n == "sex"}},
    "certainty-top-down": lambda t: {"importance": {n: 0.01 for n in t.names if n == "sex"}},
    "tabu": lambda t: {"steps": 1},
    "genetic-recoding": lambda t: {"steps": 1, "mutation": 1.0},
    "optimal-univariate": lambda t: {"columns": _ordered(t)[:1]},
    "delaunay": lambda t: {"columns": _ordered(t)[:2]},
    # What an intruder knows of how the release was made; releases of the suite come from searches.
    "likelihood-linkage": lambda t: {"mechanism": {"use": "correlated-noise", "amount": 0.5}},
    # As the paper has it, it promises no k.
    "rhs": lambda t: {"small": "pool"},
    # Its automatic size needs hundreds of people who did not take part.
    "pica": lambda t: {"size": 10},
    # Their sets overlap unless they are repaired.
    "greedy": lambda t: {"repair": "k"},
    "beam": lambda t: {"repair": "k"},
    "j-anonymity": lambda t: {"k": 2, "population": max(20 * t.height, 1)},
    # Their work grows with the cube of the columns.
    "latin-hypercube": lambda t: {"columns": t.names[:40]} if len(t.names) > 100 else {},
    "gaussian-copula": lambda t: {"columns": t.names[:40]} if len(t.names) > 100 else {},
    "model-mixture": lambda t: {"columns": t.names[:40]} if len(t.names) > 100 else {},
    "prefix": lambda t: {"lengths": [5, 3]},
    "bins": lambda t: {"edges": [0, 30, 60, 90]},
    "order": lambda t: {"order": _LISTED, "groups": [2, 2]},
    "redaction": lambda t: {"length": 10},
    "partial-order": lambda t: {"parents": {"a": ["x", "y"], "b": ["x"], "c": ["y"]}},
    "code-frequency": lambda t: {"over": "suppression"},
    "hierarchy": lambda t: {"levels": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]},
}

_BY_PLAN = "attacks the plan's own steps, and the suite's releases have none: see tests/attacks"
EXEMPTIONS: dict[tuple[str, str], str] = {
    (name, check): _BY_PLAN
    for name in ("minimality", "downcoding", "likelihood-ratio")
    for check in ("special pairs", "where it stops")
}
"""(name, check) -> why the check does not apply. Printed by every run of the suite."""


_OF_SETS = ("utility-kept", "items-kept", "km-anonymity", "intersect")


def needs_sets(entry: Entry) -> bool:
    """Whether it has nothing to do without a column of sets."""
    return entry.name in _OF_SETS or getattr(entry.load(), "kinds", ()) == ("set",)


def suited(entry: Entry) -> str:
    """The name of the ordinary table that it has something to do with."""
    of_homes = entry.name in ("individual-risk", "household-risk", "global-risk")
    return "sets" if needs_sets(entry) else "homes" if of_homes else "ordinary"


def usual(entry: Entry, *, missing: bool = False) -> Table:
    """The ordinary table of its kind."""
    from tests.contract.tables import baskets, ordinary

    return baskets(missing=missing) if needs_sets(entry) else ordinary(missing=missing)


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
