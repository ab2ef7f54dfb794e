"""A release counted again by SQL, so that anyone can check it without trusting this package.

The statements are plain SQL over the published file and can be run in any DuckDB. Nothing here is
shared with the searches, nor with the criteria.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.earlier import data_file
from ..data.schema import SUPPRESSED
from ..errors import InputError, suggest


@dataclass(frozen=True)
class Recounted:
    """What SQL finds in a published file."""

    file: str
    quasi: tuple[str, ...]
    records: int
    classes: int
    smallest: int
    """Records in the smallest equivalence class: k."""
    confidential: dict[str, tuple[int, float]] = field(default_factory=dict)
    """For each confidential column: the fewest different values in a class (distinct l), and the
    largest total variation between a class and the whole (t, equal ground distance)."""
    statements: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.file,
            "quasi": list(self.quasi),
            "records": self.records,
            "classes": self.classes,
            "k": self.smallest,
            "confidential": {n: {"l": l_, "t": t} for n, (l_, t) in self.confidential.items()},
            "sql": list(self.statements),
        }


def sql_recount(
    release: str | Path,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
) -> Recounted:
    """k, distinct l and t of a published file (CSV, TSV, Parquet), counted by DuckDB.

    Roles come from the evidence beside the file unless they are given. A missing value is a
    category of its own.
    """
    import duckdb

    file = data_file(release)
    told = _roles(file)
    quasi = told.get("quasi", []) if quasi is None else quasi
    confidential = told.get("confidential", []) if confidential is None else confidential
    if not quasi:
        raise InputError(
            f"nothing says which columns of {file.name} are quasi-identifiers",
            remedy="--quasi age,sex,zip",
        )
    source = _source(file)
    keys = ", ".join(map(_name, quasi))
    by_class = f"SELECT count(*) AS n FROM {source} GROUP BY {keys}"
    k_sql = f"SELECT sum(n), count(*), min(n) FROM ({by_class})"
    statements = [k_sql]
    with duckdb.connect() as base:
        try:
            there = base.execute(f"SELECT * FROM {source} LIMIT 0").description or []
            _require([str(column[0]) for column in there], [*quasi, *confidential], file)
            row = base.execute(k_sql).fetchone()
            assert row is not None
            if not row[0]:
                raise InputError(f"{file} holds no records", remedy="there is nothing to count")
            found = {}
            for name in confidential:
                sql = _confidential_sql(source, quasi, name)
                statements.append(sql)
                l_and_t = base.execute(sql).fetchone()
                assert l_and_t is not None
                found[name] = (int(l_and_t[0]), float(l_and_t[1]))
        except duckdb.Error as error:
            said = str(error).partition("\n")[0]
            raise InputError(f"{file} cannot be counted: {said}") from error
    records, classes, smallest = (int(value or 0) for value in row)
    return Recounted(file.name, tuple(quasi), records, classes, smallest, found, tuple(statements))


def _confidential_sql(source: str, quasi: Sequence[str], name: str) -> str:
    """Distinct values and total variation: both from the counts of values in classes.

    A value that a class lacks adds its whole share to the variation; those shares are 1 less the
    ones that the class has. An empty value and "*" say nothing, and are no value for l. Columns
    are renamed, so that none of the file's can be taken for one of these.
    """
    keys = [f"k{i}" for i in range(len(quasi))]
    listed = ", ".join(keys)
    renamed = ", ".join(f"{_name(q)} AS {key}" for q, key in zip(quasi, keys, strict=True))
    same = " AND ".join(f"p.{key} IS NOT DISTINCT FROM c.{key}" for key in keys)
    said = f"p.v IS NOT NULL AND CAST(p.v AS VARCHAR) NOT IN ('', '{SUPPRESSED}')"
    return (
        f"WITH shown AS (SELECT {renamed}, {_name(name)} AS v FROM {source}), "
        f"pairs AS (SELECT {listed}, v, count(*) AS n FROM shown GROUP BY {listed}, v), "
        f"sizes AS (SELECT {listed}, sum(n) AS size FROM pairs GROUP BY {listed}), "
        "whole AS (SELECT v, count(*) / sum(count(*)) OVER () AS share FROM shown GROUP BY v), "
        f"terms AS (SELECT c.*, p.n / c.size AS here, w.share AS there, {said} AS told "
        f"FROM pairs p JOIN sizes c ON {same} JOIN whole w ON p.v IS NOT DISTINCT FROM w.v), "
        "figures AS (SELECT count(*) FILTER (WHERE told) AS l, "
        f"(1 + sum(abs(here - there) - there)) / 2 AS t FROM terms GROUP BY {listed}) "
        "SELECT min(l), max(t) FROM figures"
    )


def _require(there: Sequence[str], named: Sequence[str], file: Path) -> None:
    for name in named:
        if name not in there:
            close = suggest(name, there)
            remedy = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(there)}"
            raise InputError(f"{file} has no column {name!r}", remedy=remedy)


def _roles(file: Path) -> dict[str, list[str]]:
    evidence = file.parent / "evidence.json"
    if not evidence.is_file():
        return {}
    found: dict[str, list[str]] = {}
    for column in json.loads(evidence.read_text(encoding="utf-8")).get("columns", []):
        if column.get("published"):
            found.setdefault(column["role"], []).append(column["name"])
    return found


def _source(file: Path) -> str:
    path = str(file).replace("'", "''")
    if file.suffix == ".parquet":
        return f"read_parquet('{path}')"
    if file.suffix in (".csv", ".tsv"):
        # Text as it stands: no reader's guess may make two labels one.
        return f"read_csv('{path}', all_varchar = true, header = true)"
    raise InputError(
        f"{file.name} is neither CSV nor Parquet", remedy="query the database with your own SQL"
    )


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
