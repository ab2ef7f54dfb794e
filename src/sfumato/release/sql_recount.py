"""A release counted again by SQL, so that anyone can check it without trusting this package.

The statements are plain SQL over the published file and can be run in any DuckDB. Nothing here is
shared with the searches, nor with the criteria. Of confidential sets, items are counted: what an
intruder learns of a set is which items it holds.
"""

from __future__ import annotations

import glob
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bounds import from_json
from ..data.io.source import locate
from ..data.io.sql import DUCKDB_CONFIG, quoted
from ..data.linkage.earlier import EVIDENCE, PARTS, data_file, table_named
from ..data.schema import SUPPRESSED
from ..errors import InputError, suggest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LISTS = re.compile(r"\[\d*\]$")
_WAYS = {"k-anonymity": ("",), "l-diversity": ("distinct",), "t-closeness": ("equal",)}
"""What is counted here, and in which of its ways."""
_INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while it counts: a `RuntimeError` of these words."""


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
    largest total variation between a class and the whole (t, equal ground distance). Of sets, the
    fewest different items, and the largest difference of an item's shares."""
    statements: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    """The confidential columns that were counted item by item."""
    not_counted: tuple[str, ...] = ()
    """What the release promises and this does not count."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.file,
            "quasi": list(self.quasi),
            "records": self.records,
            "classes": self.classes,
            "k": self.smallest,
            "confidential": {n: {"l": l_, "t": t} for n, (l_, t) in self.confidential.items()},
            "counted by item": list(self.sets),
            "not counted": list(self.not_counted),
            "sql": list(self.statements),
        }


def sql_recount(
    release: str | Path,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    *,
    memory: int = 0,
    temporary: Path | None = None,
    threads: int = 0,
    database: str = "",
) -> Recounted:
    """k, distinct l and t of a published file (CSV, TSV, Parquet) or of all parts of one, counted
    by DuckDB, with so many bytes of memory and the rest in a temporary folder. A table that the
    evidence names is read from the URL that is given.

    Roles come from the evidence beside the file unless they are given, and so does which columns of
    a text file hold sets. A missing value is a category of its own. Classes and items of sets are
    counted whatever the order of the items.
    """
    import duckdb

    place = Path(release)
    if table := {} if place.is_file() else table_named(place):
        with tempfile.TemporaryDirectory(dir=temporary, prefix="sfumato-") as held:
            (parts := Path(held) / "data").mkdir(mode=0o700)
            _fetched(table, database, parts)
            shutil.copy(place / EVIDENCE, held)
            counted = sql_recount(
                parts, quasi, confidential, memory=memory, temporary=temporary, threads=threads
            )
            shown = tuple(
                one.replace(source_of(parts), table["name"]) for one in counted.statements
            )
            return replace(counted, file=table["name"], statements=shown)
    file = data_file(place)
    source = source_of(file)
    evidence = _evidence(file.parent / EVIDENCE)
    _refuse_alike(evidence.published)
    quasi = evidence.of_role("quasi") if quasi is None else quasi
    confidential = evidence.of_role("confidential") if confidential is None else confidential
    if not quasi:
        raise InputError(
            f"nothing says which columns of {file.name} are quasi-identifiers",
            remedy="--quasi age,sex,zip",
        )
    with connected(memory, temporary, threads) as base:
        try:
            there = base.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            types = {str(name): str(dtype) for name, dtype, *_ in there}
            _require(list(types), [*quasi, *confidential], file)
            sets = {n: _set(n, t, evidence.mark) for n, t in types.items() if evidence.is_set(n, t)}
            keys = [sets[n].key if n in sets else quoted(n) for n in quasi]
            k_sql = (
                "SELECT sum(n), count(*), min(n) FROM "
                f"(SELECT count(*) AS n FROM {source} GROUP BY {', '.join(keys)})"
            )
            statements = [k_sql]
            row = base.execute(k_sql).fetchone()
            assert row is not None
            if not row[0]:
                raise InputError(f"{file} holds no records", remedy="there is nothing to count")
            found = {}
            for name in confidential:
                sql = (
                    _items_sql(source, keys, sets[name].items)
                    if name in sets
                    else _values_sql(source, keys, name)
                )
                statements.append(sql)
                l_and_t = base.execute(sql).fetchone()
                assert l_and_t is not None
                found[name] = (int(l_and_t[0]), float(l_and_t[1]))
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{file} cannot be counted: {reason}") from error
    records, classes, smallest = (int(value or 0) for value in row)
    return Recounted(
        file.name, tuple(quasi), records, classes, smallest, found, tuple(statements),
        sets=tuple(name for name in confidential if name in sets), not_counted=evidence.beyond,
    )  # fmt: skip


@dataclass(frozen=True)
class _Set:
    """A column of sets in SQL."""

    items: str
    """The items in order, each once; NULL where the set is missing or suppressed."""
    key: str
    """What is the same for the same sets only; a suppressed set is not a missing one."""


def _set(name: str, dtype: str, mark: str) -> _Set:
    column = quoted(name)
    if _LISTS.search(dtype):
        items = f"list_sort(list_distinct({column}))"
        return _Set(items, items)
    # Nobody knows from a file whether a text that a spreadsheet would run was disarmed by an
    # apostrophe: none counts as part of an item there, so that no item is taken for two.
    plain = "lambda item: regexp_replace(item, '^''+([=+\\-@])', '\\1')"
    listed = (
        f"CASE WHEN {column} = {text_of(mark)} THEN NULL WHEN starts_with({column}, '[') "
        f"THEN from_json({column}, '[\"VARCHAR\"]') "
        f"ELSE list_transform(regexp_extract_all({column}, '\\S+'), {plain}) END"
    )
    items = f"list_sort(list_distinct({listed}))"
    # No item is the mark itself unless the column is written as JSON.
    return _Set(items, f"CASE WHEN {column} = {text_of(mark)} THEN '*' ELSE to_json({items}) END")


def _values_sql(source: str, keys: Sequence[str], name: str) -> str:
    """Distinct values and total variation: both from the counts of values in classes.

    A value that a class lacks adds its whole share to the variation; those shares are 1 less the
    ones that the class has. An empty value and "*" say nothing, and are no value for l. Columns
    are renamed, so that none of the file's can be taken for one of these.
    """
    listed = ", ".join(names := [f"k{i}" for i in range(len(keys))])
    renamed = ", ".join(f"{key} AS {k}" for key, k in zip(keys, names, strict=True))
    same = " AND ".join(f"p.{key} IS NOT DISTINCT FROM c.{key}" for key in names)
    present = f"p.v IS NOT NULL AND CAST(p.v AS VARCHAR) NOT IN ('', '{SUPPRESSED}')"
    return (
        f"WITH shown AS (SELECT {renamed}, {quoted(name)} AS v FROM {source}), "
        f"pairs AS (SELECT {listed}, v, count(*) AS n FROM shown GROUP BY {listed}, v), "
        f"sizes AS (SELECT {listed}, sum(n) AS size FROM pairs GROUP BY {listed}), "
        "whole AS (SELECT v, count(*) / sum(count(*)) OVER () AS share FROM shown GROUP BY v), "
        f"terms AS (SELECT c.*, p.n / c.size AS here, w.share AS there, {present} AS known "
        f"FROM pairs p JOIN sizes c ON {same} JOIN whole w ON p.v IS NOT DISTINCT FROM w.v), "
        "figures AS (SELECT count(*) FILTER (WHERE known) AS l, "
        f"(1 + sum(abs(here - there) - there)) / 2 AS t FROM terms GROUP BY {listed}) "
        "SELECT min(l), max(t) FROM figures"
    )


def _items_sql(source: str, keys: Sequence[str], items: str) -> str:
    """The same of sets, item by item.

    l: different items, and holding none as one more; no more than there are different sets, and 1
    where everybody whose set is known holds the same item. t: the largest difference of an item's
    shares, a missing set being one more item (NULL). Of the items that a class lacks, the most
    frequent one counts: in the order of frequency, the first that is not at its place.
    """
    present = f"v IS NOT NULL AND CAST(v AS VARCHAR) NOT IN ('', '{SUPPRESSED}')"
    return (
        f"WITH shown AS (SELECT dense_rank() OVER (ORDER BY {', '.join(keys)}) AS c, {items} AS s "
        f"FROM {source}), "
        "sizes AS (SELECT c, count(*) AS size, count(s) AS known, count(DISTINCT s) AS sets, "
        "count(*) FILTER (WHERE len(s) = 0) AS none FROM shown GROUP BY c), "
        "held AS (SELECT c, unnest(s) AS v FROM shown), "
        "pairs AS (SELECT c, v, count(*) AS n FROM held GROUP BY c, v "
        "UNION ALL SELECT c, NULL, size - known FROM sizes WHERE size > known), "
        "whole AS (SELECT v, sum(n) / (SELECT sum(size) FROM sizes) AS share, "
        "row_number() OVER (ORDER BY sum(n) DESC, v) AS place FROM pairs GROUP BY v), "
        "terms AS (SELECT c, pairs.v, n, size, known, share, place, "
        "row_number() OVER (PARTITION BY c ORDER BY place) AS nth "
        "FROM pairs JOIN sizes USING (c) JOIN whole w ON pairs.v IS NOT DISTINCT FROM w.v), "
        f"classes AS (SELECT c, count(*) FILTER (WHERE {present}) AS items, "
        f"count(*) FILTER (WHERE n = known AND {present}) AS shared, "
        "max(abs(n / size - share)) AS t, "
        "1 + count(*) FILTER (WHERE place = nth) AS gap FROM terms GROUP BY c), "
        "figures AS (SELECT least(coalesce(items, 0) + CASE WHEN none > 0 THEN 1 ELSE 0 END, sets, "
        "CASE WHEN shared > 0 THEN 1 ELSE sets END) AS l, "
        "greatest(coalesce(t, 0), coalesce(share, 0)) AS t FROM sizes LEFT JOIN classes USING (c) "
        "LEFT JOIN whole ON place = coalesce(gap, 1)) "
        "SELECT min(l), max(t) FROM figures"
    )


def _require(there: Sequence[str], named: Sequence[str], file: Path) -> None:
    for name in named:
        if name not in there:
            close = suggest(name, there)
            remedy = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(there)}"
            raise InputError(f"{file} has no column {name!r}", remedy=remedy)


def _refuse_alike(names: Sequence[str]) -> None:
    """SQL does not tell capitals apart: it would count one column in place of the other."""
    lower = Counter(name.lower() for name in names)
    alike = [name for name in names if lower[name.lower()] > 1]
    if alike:
        raise InputError(
            f"the columns {' and '.join(map(repr, alike))} differ only in capitals, which SQL does "
            "not tell apart",
            remedy="rename one of them; the evidence has the counts of all",
        )


@dataclass(frozen=True)
class _Evidence:
    """What the evidence beside a file says of it."""

    columns: tuple[Mapping[str, Any], ...] = ()
    mark: str = SUPPRESSED
    beyond: tuple[str, ...] = ()

    @property
    def published(self) -> list[str]:
        return [c["name"] for c in self.columns if c.get("published")]

    def of_role(self, role: str) -> list[str]:
        return [c["name"] for c in self.columns if c.get("published") and c["role"] == role]

    def is_set(self, name: str, dtype: str) -> bool:
        """Whether a column holds sets: by its type, or as text that is said to be one."""
        return bool(_LISTS.search(dtype)) or any(
            c["name"] == name and c.get("kind") == "set" and not c.get("generalized")
            for c in self.columns
        )


def _fetched(table: Mapping[str, str], database: str, folder: Path) -> None:
    """The records of a release that are a table of a database, as parts in a folder."""
    end, name = locate(database or table["database"]), table["name"]
    if end.format != "postgresql":
        raise InputError(
            f"the records are the table {name} of {table['database']}, and only Spark reads that",
            remedy=f'spark.table("{name}").write.parquet("FOLDER"), then sfumato recount FOLDER '
            "--quasi age,sex,zip",
        )
    if not database:
        # A folder may name any server, and whoever asks one may tell it a password.
        raise InputError(
            f"the records are the table {name} of {end.label}",
            remedy=f"--database {end.label} to read them there, if that is your server",
        )
    from ..data.io.postgres_table import copied_table

    if copied_table(end, name, folder).mark != table["sha256"]:
        raise InputError(
            f"the table {name} of {end.label} is not the one of this release",
            remedy="name its folder; a run that was interrupted at its very end is run again with "
            "--replace",
        )


def _evidence(path: Path) -> _Evidence:
    if not path.is_file():
        return _Evidence()
    try:
        found = from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{path} is no evidence of Sfumato's: {error}", remedy="give --quasi, or mend the file"
        ) from None
    beyond = tuple(
        " ".join(filter(None, (_way(one), one["requirement"], f"of {of}" if of else "")))
        for one in found.get("requirements", [])
        for of in [one.get("detail", {}).get("column")]
        if not counted_here(one)
    )
    mark = found.get("suppressed") or SUPPRESSED
    return _Evidence(tuple(found.get("columns", [])), str(mark), beyond)


def counted_here(requirement: Mapping[str, Any]) -> bool:
    """Whether what the evidence promises is counted here, in the way in which it was."""
    return _way(requirement) in _WAYS.get(requirement["requirement"], ())


def _way(requirement: Mapping[str, Any]) -> str:
    """In which way something was counted; "" in the usual one. Whose the records are a release does
    not say, so that people and households are not counted from it."""
    detail = requirement.get("detail", {})
    if detail.get("missing") == "wildcard":
        return "wildcard"
    ignored = detail.get("without_missing", detail.get("with_missing"))
    if ignored != detail.get("with_missing") and requirement["value"] != ignored:
        return "missing as a value in"
    if (unit := detail.get("unit", "record")) != "record":
        return f"{unit} by {unit}"
    if of := detail.get("by"):
        return f"{of} by {of}"
    return str(detail.get("variant", detail.get("distance", "")))


@contextmanager
def connected(memory: int, temporary: Path | None, threads: int) -> Iterator[DuckDBPyConnection]:
    """DuckDB with so many bytes of memory (0: as it likes); what does not fit goes to a temporary
    folder, which is gone afterwards."""
    import duckdb

    with tempfile.TemporaryDirectory(dir=temporary, prefix="sfumato-") as place:
        settings = {**DUCKDB_CONFIG, "temp_directory": place, "preserve_insertion_order": "false"}
        settings |= {"memory_limit": f"{memory}B"} if memory else {}
        settings |= {"threads": str(threads)} if threads else {}
        try:
            with duckdb.connect(config=settings) as base:
                yield base
        except RuntimeError as error:
            if str(error) != _INTERRUPTED:
                raise
            raise KeyboardInterrupt from error


def source_of(file: Path) -> str:
    """What a statement reads: a file, or all parts in a folder."""
    path = glob.escape(str(file))  # in a folder `a[1]`, DuckDB would else read that of `a1`
    if file.is_dir():
        return f"read_parquet({text_of(f'{path}/{PARTS}')})"
    if file.suffix == ".parquet":
        return f"read_parquet({text_of(path)})"
    if file.suffix in (".csv", ".tsv"):
        # Text as it stands: no reader's guess may make two labels one.
        # "" is an empty text or set, and nothing at all a missing one.
        options = "all_varchar = true, header = true, allow_quoted_nulls = false"
        return f"read_csv({text_of(path)}, {options})"
    raise InputError(
        f"SQL counts CSV, TSV and Parquet, and {file.name} is none of them",
        remedy='[output] format = "csv" or "parquet"; the evidence has the counts of every format',
    )


def text_of(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
