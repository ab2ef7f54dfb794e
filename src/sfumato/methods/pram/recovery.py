"""Frequencies before post-randomization, from those after it and the published matrices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ...data.schema import SUPPRESSED
from ...data.table import Table
from ...errors import MethodError
from ...kernels.masking.pram import invertible, recovered

Key = tuple[str | None, ...]


def frequencies(table: Table, matrices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Estimates, their standard errors and covariances, and the released counts, by column.

    Strata are undone one by one and added up; their errors are independent.
    """
    by_unit: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for one in matrices:
        by_unit.setdefault(tuple(one["columns"]), []).append(one)
    out: dict[str, Any] = {
        "frequencies": {},
        "standard errors": {},
        "covariances": {},
        "released": {},
    }
    for names, parts in by_unit.items():
        label = " & ".join(names)
        order: list[Key] = list(dict.fromkeys(k for part in parts for k in keys_of(part)))
        place = {key: i for i, key in enumerate(order)}
        estimate, covariance = np.zeros(len(order)), np.zeros((len(order), len(order)))
        released = np.zeros(len(order))
        counts = _counts(table, names, list(parts[0]["stratum"]))
        for part in parts:
            found, spread, seen = _undone(part, counts, label)
            at = [place[key] for key in keys_of(part)]
            estimate[at] += found
            covariance[np.ix_(at, at)] += spread
            released[at] += seen[: len(at)]
        _all_read(counts, parts, label)
        words = _names_of(order)
        errors = np.sqrt(np.clip(np.diagonal(covariance), 0.0, None))
        out["frequencies"][label] = dict(zip(words, estimate.tolist(), strict=True))
        out["standard errors"][label] = dict(zip(words, errors.tolist(), strict=True))
        out["covariances"][label] = {
            word: dict(zip(words, row, strict=True))
            for word, row in zip(words, covariance.tolist(), strict=True)
        }
        out["released"][label] = dict(zip(words, released.tolist(), strict=True))
    return out


def keys_of(part: Mapping[str, Any], which: str = "categories") -> list[Key]:
    """The categories of a published matrix: of its rows, or `"to"`, of its columns."""
    listed = part.get(which, part["categories"])
    return [tuple(one) if isinstance(one, list | tuple) else (one,) for one in listed]


def _counts(table: Table, names: Sequence[str], strata: Sequence[str]) -> dict[Key, dict[Key, int]]:
    """stratum -> category -> records."""
    for name in (*strata, *names):
        if name not in table.schema:
            raise MethodError(
                f"the frequencies of {' & '.join(names)} cannot be recovered: "
                f"column {name!r} was not released"
            )
    wanted = [table[name].cast(pl.String).alias(str(i)) for i, name in enumerate((*strata, *names))]
    grouped = pl.DataFrame(wanted).group_by(pl.all()).len("__count")
    found: dict[Key, dict[Key, int]] = {}
    for row in grouped.iter_rows():
        stratum, category = row[: len(strata)], row[len(strata) : -1]
        found.setdefault(stratum, {})[category] = row[-1]
    return found


def _undone(
    part: Mapping[str, Any], counts: Mapping[Key, Mapping[Key, int]], label: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    matrix = np.asarray(part["probabilities"], dtype=np.float64)
    if not invertible(matrix):
        where = f" in the stratum {part['stratum']}" if part["stratum"] else ""
        raise MethodError(
            f"the matrix of {label}{where} is singular: different frequencies would look alike "
            "after it",
            remedy="it cannot be undone; a matrix whose diagonal is above one half always can",
        )
    seen = counts.get(tuple(part["stratum"].values()), {})
    after = np.array([seen.get(key, 0) for key in keys_of(part, "to")], dtype=np.float64)
    return (*recovered(matrix, after), after)


def _all_read(
    counts: Mapping[Key, Mapping[Key, int]], parts: Sequence[Mapping[str, Any]], label: str
) -> None:
    """Every released value must be one that its matrix can give, unless it was left as it is."""
    known = {tuple(part["stratum"].values()): set(keys_of(part, "to")) for part in parts}
    for stratum, seen in counts.items():
        for key in seen:
            kept = None in key or SUPPRESSED in key
            if key not in known.get(stratum, set()) and not kept:
                where = f" in the stratum {', '.join(map(str, stratum))}" if stratum else ""
                raise MethodError(
                    f"{label} holds {' & '.join(map(str, key))}{where}, which no matrix leads to",
                    remedy="take the release as pram left it: another step has changed the columns",
                )


def _names_of(order: Sequence[Key]) -> list[str]:
    """A name for each category; "missing" for a missing one, unless a category is called so."""
    words = [" & ".join("missing" if text is None else text for text in key) for key in order]
    return words if len(set(words)) == len(words) else [json.dumps(key) for key in order]
