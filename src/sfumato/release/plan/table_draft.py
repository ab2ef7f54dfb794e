"""`sfumato table init`: the plan of a table over columns of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...data.io import read_decided
from ...data.io.reading import ReadTable
from ...data.schema import missing_column
from ...data.table import Table
from ...errors import SchemaError
from . import toml
from .draft import release_folder

_MANY = 200
"""A dimension with more codes than this is a long table; a hierarchy would help its readers."""


def draft_table(
    source: str | Path | Table,
    dimensions: Sequence[str],
    value: str = "",
    *,
    path: str | None = None,
    output: str = "",
) -> str:
    """The plan of a table over these columns: usual rules, a method, where to write.

    >>> from sfumato.data.table import table
    >>> people = table({"town": ["a", "b", "b"], "job": ["x", "x", "y"]})
    >>> print(draft_table(people, ["town", "job"], path="people.csv").splitlines()[1])
    path = "people.csv"
    """
    read = ReadTable(source, [], {}) if isinstance(source, Table) else read_decided(str(source))
    words = {"path": path or str(source), **read.decided}
    folder = output or release_folder(path)
    return written(read.table, dimensions, value, input=words, output=folder)


def written(
    table: Table,
    dimensions: Sequence[str],
    value: str,
    *,
    input: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    output: str,
) -> str:
    """The text of a plan of a table; `columns` says what is known of some beforehand."""
    wanted = [*dimensions, *([value] if value else [])]
    unknown = [missing_column(name, table.names) for name in wanted if name not in table.schema]
    if unknown or not dimensions:
        raise SchemaError("the table", unknown)
    lines = [toml.table("input", input)]
    known = columns or {}
    said = [_known(table, name, known.get(name, {}), name != value) for name in wanted]
    if any(said):
        lines.append("[columns]\n" + "".join(said))
    shown: dict[str, Any] = {"dimensions": list(dimensions)}
    if value:
        shown["value"] = value
    lines.append(toml.table("table", shown))
    rules = (
        [{"use": "p-percent", "p": 10}, {"use": "minimum-frequency", "minimum": 3}]
        if value
        else [{"use": "minimum-frequency", "minimum": 3}]
    )
    lines += [toml.table("table.rules", rule, array=True) for rule in rules]
    cells = 1
    for name in dimensions:
        cells *= table[name].n_unique() + 1
    use = "modular-suppression" if cells <= 200_000 else "hypercube"
    lines.append(toml.table("table.protect", {"use": use}))
    lines.append(toml.table("output", {"path": output}))
    return "\n".join(lines)


def _known(table: Table, name: str, words: Mapping[str, Any], spans: bool) -> str:
    """What is known of a column; a hierarchy for codes that look like one, where none is."""
    if "poset" in words or (words and not spans):
        return f"{toml.key(name)} = {toml.value(words)}\n"
    guessed = _dimension(table, name) if spans else ""
    if not words or (guessed and not guessed.startswith("#")):
        return guessed
    return f"{guessed}{toml.key(name)} = {toml.value(words)}\n"


def _dimension(table: Table, name: str) -> str:
    """A hierarchy for codes that look like one."""
    texts = [str(code) for code in table[name].drop_nulls().unique().to_list()]
    lengths = {len(text) for text in texts}
    codes = len(lengths) == 1 and min(lengths) >= 3 and all(text.isdigit() for text in texts)
    if codes:
        whole = lengths.pop()
        steps = sorted({whole, max(whole - 1, 2), 2}, reverse=True)
        poset = toml.value({"poset": {"kind": "prefix", "lengths": steps}})
        return (
            f"{toml.key(name)} = {poset}  # codes of {whole} digits: totals by their first ones\n"
        )
    if len(texts) > _MANY:
        return f"# {toml.key(name)}: {len(texts):,} codes; a hierarchy file would give subtotals\n"
    return ""
