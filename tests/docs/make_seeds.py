"""docs/seeds.md: what the five documents name, our name for it, and the test that checks it.

`python -m tests.docs.make_seeds` makes the page from the rows in tests/docs/seeds and from the
declarations; whatever is wrong with a row is told, and nothing is written.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import sfumato.cli.app
from sfumato.cli.base import app
from sfumato.errors import SfumatoError
from sfumato.registry import KINDS, entries, find

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).parent / "seeds"
PAGE = ROOT / "docs" / "seeds.md"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Row:
    """One thing that a document names. `left` says why it is not here; else it has `ours`."""

    at: str
    thing: str
    ours: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    note: str = ""
    left: str = ""

    @staticmethod
    def of(words: dict[str, Any]) -> Row:
        plain: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in words.items()
        }
        return Row(**plain)

    @property
    def registered(self) -> Iterator[str]:
        """The names among `ours` that should be registered, without parameters."""
        return (name.split()[0] for name in self.ours if _form(name) == "registered")


@dataclass(frozen=True)
class Document:
    """One document: how it is called, how declarations cite it, and its rows."""

    name: str
    title: str
    cited: str
    rows: tuple[Row, ...]

    @staticmethod
    def read(path: Path) -> Document:
        words = tomllib.loads(path.read_text("utf-8"))
        rows = tuple(Row.of(row) for row in words.pop("rows"))
        return Document(rows=rows, **words)


def documents() -> list[Document]:
    """All five, in the order of their years."""
    names = ("katirai", "lasko", "podgursky", "torra", "li-sarkar")
    return [Document.read(ROWS / f"{name}.toml") for name in names]


def _form(name: str) -> str:
    """What kind of name it is: a command, a public name, a module's name, a file, registered."""
    if name.startswith("sfumato "):
        return "command"
    if name.startswith("sf."):
        return "public"
    if name.startswith("sfumato."):
        return "dotted"
    return "file" if name.endswith((".py", ".md")) else "registered"


def complaints(found: Sequence[Document]) -> list[str]:
    """Everything that is wrong with the rows."""
    told = []
    for document in found:
        for row in document.rows:
            told += [f"{document.name}, {row.thing}: {what}" for what in _row_complaints(row)]
        things = Counter((row.at, row.thing) for row in document.rows)
        told += [f"{document.name}: {thing} stands twice" for thing, n in things.items() if n > 1]
        named = {name for row in document.rows for name in row.registered}
        cited = [e.name for e in entries() if re.search(document.cited, e.load().paper)]
        told += [
            f"{document.name}: {n} cites it, no row names {n}" for n in cited if n not in named
        ]
    return told


def _row_complaints(row: Row) -> Iterator[str]:
    if bool(row.left) == bool(row.ours):
        yield "it has either a name of ours or a reason why it was left out"
    benchmark = any(name.startswith("benchmarks/") for name in row.ours)
    if row.ours and not row.tests and not benchmark:
        yield "no test and no benchmark checks it"
    for name in row.ours:
        if what := _unresolved(name):
            yield what
    for test in row.tests:
        file, _, function = test.partition("::")
        if function not in _functions(file):
            yield f"there is no test {test}"


def _unresolved(name: str) -> str:
    """Why a name leads nowhere; empty if it leads somewhere."""
    form = _form(name)
    if form == "registered":
        return _misdeclared(*name.split())
    if form == "command":
        there = name.split()[1] in typer.main.get_group(app).commands
    elif form == "public":
        there = hasattr(sfumato, name.removeprefix("sf."))
    elif form == "dotted":
        there = _importable(name)
    else:
        there = (ROOT / name).is_file()
    return "" if there else f"there is no {name}"


def _misdeclared(name: str, *parameters: str) -> str:
    """What its declaration says against a registered name with parameters (`key=value`)."""
    try:
        cls = find(name).load()
    except SfumatoError as error:
        return str(error)
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        try:
            plain = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            plain = value
        for wrong in cls.complaints({key: plain}):
            if wrong.where.split(".")[0] == key.replace("-", "_"):
                return f"{name}: {wrong}"
    return ""


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        module, _, attribute = name.rpartition(".")
        return module != "" and _importable(module) and hasattr(sys.modules[module], attribute)
    return True


@functools.cache
def _functions(file: str) -> frozenset[str]:
    """The tests of a file, `test_x` or `TestY::test_x`; read, not run."""
    if not (path := TESTS / file).is_file():
        return frozenset()
    body = ast.parse(path.read_text("utf-8")).body
    tests = {one.name for one in body if isinstance(one, ast.FunctionDef)}
    for cls in (one for one in body if isinstance(one, ast.ClassDef)):
        tests |= {f"{cls.name}::{one.name}" for one in cls.body if isinstance(one, ast.FunctionDef)}
    return frozenset(name for name in tests if name.split("::")[-1].startswith("test_"))


@functools.cache
def _headings() -> dict[str, str]:
    """Where in the reference each registered thing is explained."""
    found = {}
    for path in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for heading in re.findall(r"^## (`.*)$", path.read_text("utf-8"), re.MULTILINE):
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            found[heading.split("`")[1]] = f"reference/{path.name}#{anchor}"
    return found


def page(found: Sequence[Document]) -> str:
    """The page: counts, a table to each document, what was left out, what no document names."""
    parts = [
        "# What the five documents name, and where it is",
        "<!-- Made by `make docs` from tests/docs/seeds and the declarations; edit those. -->",
        "Sfumato began with five documents. Here is every method, search, measure, criterion, "
        "attack, poset, worked example, experiment and open problem that they name, with our name "
        "for it and the tests that check it. `sfumato explain NAME` tells more of each.",
        *_summary(found),
        *(part for document in found for part in _section(document)),
        *_left_out(found),
        *_beyond(found),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(found: Sequence[Document]) -> Iterator[str]:
    rows = [row for document in found for row in document.rows]
    left, tests = sum(bool(row.left) for row in rows), {test for row in rows for test in row.tests}
    names = {name for row in rows for name in row.registered}
    alone = sum(bool(row.ours) and not row.tests for row in rows)
    yield (
        f"**{len(rows)} things: {len(rows) - left} are here, under {len(names)} registered names, "
        f"checked by {len(tests)} tests ({alone} by a benchmark alone); {left} were left out.**"
    )
    lines = ["| document | things | here | left out |", "|---|--:|--:|--:|"]
    for document in found:
        out = sum(bool(row.left) for row in document.rows)
        total = len(document.rows)
        lines.append(f"| {document.title} | {total} | {total - out} | {out} |")
    yield "\n".join(lines)


def _section(document: Document) -> Iterator[str]:
    yield f"## {document.name}"
    lines = ["| where | thing | here | checked by |", "|---|---|---|---|"]
    for row in (row for row in document.rows if not row.left):
        thing = f"{row.thing} ({row.note})" if row.note else row.thing
        ours = ", ".join(map(_shown, row.ours))
        tests = ", ".join(map(_linked, row.tests)) or "the benchmark"
        lines.append(_line(row.at, thing, ours, tests))
    yield "\n".join(lines)


def _left_out(found: Sequence[Document]) -> Iterator[str]:
    yield "## Left out, and why"
    lines = ["| document | where | thing | why |", "|---|---|---|---|"]
    for document in found:
        for row in (row for row in document.rows if row.left):
            lines.append(_line(document.name, row.at, row.thing, row.left))
    yield "\n".join(lines)


def _beyond(found: Sequence[Document]) -> Iterator[str]:
    yield "## What no document names"
    named = {name for document in found for row in document.rows for name in row.registered}
    lines = ["| | |", "|---|---|"]
    for kind in KINDS:
        others = [entry.name for entry in entries(kind) if entry.name not in named]
        if others:
            titles = Path(_headings()[others[0]].partition("#")[0]).stem.replace("-", " ")
            lines.append(_line(titles, ", ".join(map(_shown, others))))
    yield "\n".join(lines)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _shown(name: str) -> str:
    """A name of ours, with a link to where it is explained."""
    form = _form(name)
    if form == "registered":
        first, *parameters = name.split()
        words = "".join(f" `{' = '.join(word.split('=', 1))}`" for word in parameters)
        return f"[`{first}`]({_headings()[first]}){words}"
    if form == "public":
        return f"[`{name}`](reference/public.md)"
    return f"[`{name}`](../{name})" if form == "file" else f"`{name}`"


def _linked(test: str) -> str:
    """A test by its sentence, with a link to its file."""
    file, _, function = test.partition("::")
    said = function.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    return f"[{said}](../tests/{file})"


def main() -> None:
    """Write the page, or say what is wrong."""
    found = documents()
    if told := complaints(found):
        sys.exit("\n".join(told))
    PAGE.write_text(page(found), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
