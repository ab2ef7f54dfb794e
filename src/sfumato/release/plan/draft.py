"""`sfumato init`: a commented plan for a file, for a person to read and correct."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ...addresses import ELSEWHERE, bare, holds_secret, is_address
from ...data.io import read_decided
from ...data.io.folders import source_of
from ...data.io.reading import ReadTable
from ...data.io.sets import specs
from ...data.io.source import SHEETS, STAT, WRITTEN_AS, stem_of
from ...data.people.repeated import Counted, people_counted
from ...data.recognize import repeated_fields
from ...data.schema import Column, Kind, Role
from ...data.table import Table
from ...errors import InputError
from ...texts import one_line
from . import toml
from .doubts import FIRST, Question, noted
from .guess import Guess, guess, long_form, over_89, read_again
from .plan import Input
from .proposal import bin_width, finite

_K = 5
_SHOWN = 12
_TOGETHER = """\
# k-anonymity holds for all quasi-identifiers together, and a search for sets groups by sets alone.
# So the others are made a set as well, of items such as sex=f: one search keeps them all. Numbers
# and dates become bins, which you may change below. To publish them as columns instead, drop the
# column of sets or show that nobody knows its items.
"""
_IN_MEMORY = """\
# A plan makes sets of columns when it reads a file: call enumerate_sets on a table in memory.
"""
_LONG = """\
# {id} repeats, and {item} looks like a list of its items. If so, a person has
# many records, and k records may be one person's: read them as sets, one for each person, with
# these lines instead:
#   [input] sets = {{ id = {id}, item = {item} }}
#   [columns] ITEM = {{ role = "quasi", kind = "set" }} and KEY = {{ role = "identifier" }}
#   [[steps]] use = "set-mondrian", k = {k}, in place of "mondrian"
"""
_SEVERAL = """\
# records of one person hide nobody, so that people are counted, and every group keeps {k} of them.
"""
_SAMPLED = """\
# The file is large: types and roles were judged on {:,} records spread over it. `sfumato protect`
# reads all of them, and stops at a cell that does not fit.
"""
_MAP = """\
# To compare other ways to mask, take the "# " away below; then sfumato map PLAN --output map.svg
"""
_ATTACKED = (
    "# withstand = { at-most = 0.05 }  # every attack tried before publishing; minutes "
    "(docs/red-team.md)"
)
_TIES = """\
# {} is not published: the groups of people who are tied together, laid over one
# another, tell what each group hides. To publish it nevertheless:
# [[steps]]
# use = "pseudonymize"
# columns = {}
"""
NO_PASSWORD = f"# The password is not in this plan: {ELSEWHERE}.\n"
_MOST_LABELS = 8
ROLES = (
    (Role.IDENTIFIER, "Names people: dropped, or replaced by a pseudonym."),
    (Role.QUASI, "Others may know these: together they can single a person out."),
    (Role.CONFIDENTIAL, "What must not be learnt about a person."),
    (Role.TARGET, "What models will predict."),
    (Role.WEIGHT, "Sampling weights."),
    (Role.HOUSEHOLD, "Ties people of one household together: left out, or a pseudonym."),
    (Role.INSENSITIVE, "Harmless."),
)


class Drafted(NamedTuple):
    """A drafted plan, and what it was made from."""

    text: str
    read: ReadTable
    """The table that was looked at: a sample where the file is large."""
    guesses: list[Guess]
    questions: list[Question]
    """What a person should answer, each as the comment in the text that asks it."""


def draft_plan(
    source: Any,
    *,
    path: str | None = None,
    output: str = "",
    ask: Callable[[Guess], str] | None = None,
    **options: Any,
) -> str:
    """A commented plan for a file or a table; each guess with its reason and how sure it is.

    `ask` is called for each guess that is unsure, the least sure first, and gives the role. The
    release goes to `output`, else to a folder beside the plan that is named after the file.

    >>> from sfumato.data.table import table
    >>> text = draft_plan(table({"name": ["A. Moss", "B. Reed"], "sex": ["f", "m"]}))
    >>> 'name = { role = "identifier", kind = "nominal" }' in text
    True
    """
    return drafted(source, path=path, output=output, ask=ask, **options).text


def drafted(
    source: Any,
    *,
    path: str | None = None,
    output: str = "",
    ask: Callable[[Guess], str] | None = None,
    **options: Any,
) -> Drafted:
    """The same with the table that was read for it, so that nobody need read it again."""
    secret = False
    if isinstance(source, Table):
        read = ReadTable(source, [], {})
    else:
        read = read_decided(source, **{"sample": True, **options})
        path = path or str(source)
        secret, path = holds_secret(path), bare(path)
    table = read.table
    if not table.height:
        raise InputError(
            "there are no records", remedy="check the file, or what the query asks for"
        )
    made = guess(table, from_file=not isinstance(source, Table))
    guesses, listed = _beside_sets(table, made if ask is None else _asked(made, ask))
    asked = _questions(guesses, read)
    head = _head(read, guesses, asked, path, options, listed) + (NO_PASSWORD if secret else "")
    steps = _steps(table, guesses, listed)
    format = "csv" if isinstance(source, Table) else source_of(source, options.get("format")).format
    rest = _rest(guesses, output or release_folder(path), format)
    text = "\n".join((head, _columns(table, guesses), steps, rest))
    return Drafted(text, read, guesses, asked)


def release_folder(path: str | None) -> str:
    """Where the release of a file goes: not where that of the file beside it does."""
    if not path or is_address(path):
        return "release"
    return f"{stem_of(path) or 'data'}-release"


def _unsure(guesses: list[Guess]) -> list[Guess]:
    """What a person should look at first, the least sure before the others."""
    return sorted((made for made in guesses if made.unsure), key=lambda made: made.confidence)


def _asked(guesses: list[Guess], ask: Callable[[Guess], str]) -> list[Guess]:
    """The guesses, unsure ones with the role that a person gave them."""
    given = {made.name: Role(ask(made)) for made in _unsure(guesses)}
    return [
        replace(made, role=given[made.name], why="as you said", confidence=1.0)
        if made.name in given
        else made
        for made in guesses
    ]


def _questions(guesses: list[Guess], read: ReadTable) -> list[Question]:
    """What a person should look at before everything else: what is unsure, and what may stand for a
    missing value."""
    unsure = _unsure(guesses)
    lines = [
        Question("encoding", note)
        for note in read.notes
        if "encoding" in read.decided and "encod" in note
    ]
    lines += [
        Question("role", f"{made.name}: {made.role}? {made.why}", (made.name,))
        for made in unsure[:_SHOWN]
    ]
    if len(unsure) > _SHOWN:
        lines.append(
            Question("more", f"and {len(unsure) - _SHOWN} more that say how sure they are")
        )
    for made in guesses:
        if made.shape.stand_ins:
            words = ", ".join(map(toml.value, made.shape.stand_ins))
            name = toml.key(made.name)
            line = (
                f"{made.name}: does {words} mean missing? "
                f"[input] sentinels = {{ {name} = [{words}] }}"
            )
            lines.append(Question("stand-in", line, (made.name,), tuple(made.shape.stand_ins)))
        if made.shape.missing:
            words = ", ".join(map(toml.value, made.shape.missing))
            line = f"{made.name}: {words} among its values is taken for missing"
            lines.append(Question("missing", line, (made.name,), tuple(made.shape.missing)))
    lines += _repeated(read.table, guesses)
    # What somebody wrote of people tells nobody apart.
    told = [made for made in guesses if made.role == Role.IDENTIFIER and made.what != "free-text"]
    names = [made.name for made in told]
    if len(names) > 1:
        line = (
            f"which of {', '.join(names)} tells who a record is about, from one release to the "
            'next? [input] person = "..."'
        )
        lines.append(Question("person", line, tuple(names)))
    return [one._replace(line=noted(one.line)) for one in lines]


def _repeated(table: Table, guesses: list[Guess]) -> list[Question]:
    """Fields of which one would give back what is hidden in the other."""
    apart = (Role.IDENTIFIER, Role.HOUSEHOLD, Role.WEIGHT)
    found = repeated_fields(table, [made.name for made in guesses if made.role not in apart])
    lines = [
        Question(
            "repeated",
            f'{one}; leave {one.column} out, or mask both: [[steps]] use = "drop", '
            f"columns = {toml.value([one.column])}",
            (one.column, one.by),
        )
        for one in found[:_SHOWN]
    ]
    if len(found) > _SHOWN:
        more = f"and {len(found) - _SHOWN} more that others tell: sfumato information"
        lines.append(Question("more", more))
    return lines


def _head(
    read: ReadTable,
    guesses: list[Guess],
    asked: list[Question],
    path: str | None,
    options: dict[str, Any],
    listed: list[str],
) -> str:
    table = read.table
    many = f"{table.height:,}" if read.share == 1 else f"about {table.height / read.share:,.0f}"
    lines = [
        toml.comment(f"A draft for {_called(path)}: {many} records, {len(table.names)} columns."),
        "# Every role is a guess with its reason. Correct what is wrong, then protect.",
        "",
        *([FIRST, *(one.line for one in asked), ""] if asked else []),
    ]
    if read.share < 1:
        lines.append(_SAMPLED.format(table.height))
    lines += [f"# The reader noted: {one_line(note)}" for note in read.notes]
    given: dict[str, Any] = {"path": path} if path else {}
    given |= _told(read_again(read.decided, options, guesses))
    sets = specs(options.get("sets"))
    comment = ""
    if listed:
        into = next(n for n in _names("attributes") if n not in table.names)
        sets = [*sets, {"columns": listed, "into": into}]
        comment = _TOGETHER + ("" if path else _IN_MEMORY)
    elif not sets and (found := long_form(table)):
        comment = _LONG.format(id=toml.value(found.id), item=toml.value(found.item), k=_K)
        comment = comment.replace("ITEM", toml.key(found.item)).replace("KEY", toml.key(found.id))
    if sets:
        given["sets"] = sets[0] if len(sets) == 1 else sets
    begun = toml.table("input", given) if given else ""
    return "\n".join(lines) + "\n" + comment + begun


def _called(path: str | None) -> str:
    if not path:
        return "the table"
    return one_line(path if is_address(path) else Path(path).name)


def _told(options: dict[str, Any]) -> dict[str, Any]:
    """What was said or decided about the file, as `[input]` writes it."""
    known = {key: value for key, value in options.items() if key in Input.model_fields}
    if "missing" in known:
        known["missing"] = [word for word in known["missing"] if word]
    given: Input = Input.build({key: value for key, value in known.items() if key != "sets"})
    return given.plan_words()


def _names(first: str) -> Iterator[str]:
    yield first
    yield from (f"{first}_{i}" for i in count(2))


def _beside_sets(table: Table, guesses: list[Guess]) -> tuple[list[Guess], list[str]]:
    """The guesses, and the quasi-identifiers that must join the sets: those of single values.

    A search for sets cannot group by numbers and dates, so that these get bins.
    """
    quasi = [made for made in guesses if made.role == Role.QUASI]
    if not any(made.kind == Kind.SET for made in quasi):
        return guesses, []
    single = [made.name for made in quasi if made.kind != Kind.SET]
    old = over_89(table, guesses)
    binned = [
        replace(made, poset=_bins(table[made.name], made, made.name in old))
        if made.name in single and made.kind in (Kind.INTEGER, Kind.CONTINUOUS, Kind.DATE)
        else made
        for made in guesses
    ]
    return binned, single


def _bins(series: pl.Series, made: Guess, old: bool) -> dict[str, Any]:
    """About ten bins; ages in fives, and beyond 89 in one."""
    dated = made.kind == Kind.DATE
    values = finite(series.dt.year() if dated else series)
    step = bin_width(values, made)
    low, high = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
    first, last = math.floor(low / step), math.ceil((90 if old else high) / step)
    found = [i * step for i in range(min(first, last), last + 1)]
    if dated:
        edges: set[Any] = {dt.date(min(max(1, round(year)), 9999), 1, 1) for year in found}
    else:
        # Nobody wants to read 0.30000000000000004.
        short = [float(f"{edge:.12g}") for edge in found]
        edges = {int(edge) if edge.is_integer() else edge for edge in short}
    return {"kind": "bins", "edges": sorted(edges)}


def _columns(table: Table, guesses: list[Guess]) -> str:
    lines = ["[columns]"]
    for role, meaning in ROLES:
        chosen = [made for made in guesses if made.role == role]
        if not chosen:
            continue
        lines.append(f"# {role}. {meaning}")
        for made in chosen:
            words: dict[str, Any] = {"role": str(made.role), "kind": str(made.kind)}
            if made.kind == Kind.ORDINAL:
                order = made.shape.categories or table.schema[made.name].categories
                words["categories"] = list(order)
            if made.poset:
                words["poset"] = made.poset
            lines.append(
                f"{toml.key(made.name)} = {toml.value(words)}  # "
                + "; ".join(filter(None, (_said(made), _labels(table.schema[made.name]))))
            )
    return "\n".join(lines) + "\n"


def _said(made: Guess) -> str:
    """The reason on one line, and how sure it is."""
    why = one_line(made.why)
    return why if made.confidence == 1 else f"{why} ({made.confidence:.0%} sure)"


def _labels(column: Column) -> str:
    """What the file calls the column and its codes, on one line."""
    codes = [f"{code:g} {name}" if isinstance(code, float) else f"{code} {name}"
             for code, name in column.labels[:_MOST_LABELS]]  # fmt: skip
    more = " ..." if len(column.labels) > _MOST_LABELS else ""
    parts = filter(None, (column.label, ", ".join(codes) + more))
    return one_line(": ".join(parts))


def _steps(table: Table, guesses: list[Guess], listed: list[str]) -> str:
    lines = ["# What is done, in this order. `sfumato methods` lists what there is."]
    names = [made.name for made in guesses if made.role == Role.IDENTIFIER]
    households = [made.name for made in guesses if made.role == Role.HOUSEHOLD]

    def step(use: str, why: str, *more: str) -> None:
        named = f'use = "{use}"'
        lines.extend(("[[steps]]", f"{named:<27} # {why}" if why else named, *more, ""))

    several = _several(table, guesses)
    if names and several is None:
        step("drop", "the identifiers")
    if households:
        lines.append(_TIES.format(", ".join(map(one_line, households)), toml.value(households)))
    old = [name for name in over_89(table, guesses) if name not in listed]
    if old:
        why = "ages over 89 go into one category (HIPAA 3)"
        step("top-bottom-coding", why, f"columns = {toml.value(old)}", "top = 90")
    quasi = [made for made in guesses if made.role == Role.QUASI]
    whole = [made.name for made in guesses if made.kind == Kind.SET and made not in quasi]
    whole = [name for name in whole if name not in (*names, *households)]
    if whole:
        lines += [
            toml.comment(
                f"No step guards {', '.join(whole)}: published whole. Whoever knows some of the"
            ),
            '# items finds the person: unless nobody can, make it role = "quasi" and',
            '# use = "set-mondrian".',
        ]
    size, more = _K, []
    if several is not None:
        # Groups of k records would nearly all be joined again, and joined groups lose more.
        size *= max(1, round(several.records / several.people / 2))
        lines += [f"# {one_line(str(several))}:", *_SEVERAL.format(k=_K).splitlines()]
        more = [f'criteria = [{{ use = "k-anonymity", k = {_K} }}]']
    if any(made.kind == Kind.SET for made in quasi):
        step("set-mondrian", "of each set, what at least k people share", f"k = {size}", *more)
    elif quasi:
        step("mondrian", "groups of at least k that look alike", f"k = {size}", *more)
    if several is not None:
        step("drop", "the identifiers, after the search that counts people by them")
    return "\n".join(lines)


def _several(table: Table, guesses: list[Guess]) -> Counted | None:
    """The people who have several records each, by a guessed identifier; None where nobody has."""
    schema = table.schema
    columns = [schema[made.name].with_(role=made.role) for made in guesses]
    return people_counted(table.with_columns([], columns))


def _rest(guesses: list[Guess], output: str, format: str) -> str:
    lines = [
        "# What must hold, counted again on the published file; else nothing is written.",
        "[require]",
    ]
    # No limit on record-linkage: in groups of k at most 1 in k is linked anyhow, and as many as it
    # allows could then be singled out by any three columns, the harmless ones among them.
    lines.append("exposure = { at-most = 0.05 }  # the share whom three columns may single out")
    if any(made.role == Role.QUASI for made in guesses):
        lines.append(f"k-anonymity = {_K}")
    confidential = [
        made.name
        for made in guesses
        if made.role == Role.CONFIDENTIAL and made.kind in (Kind.NOMINAL, Kind.ORDINAL)
    ]
    lines += [
        f"# l-diversity = {{ column = {toml.value(name)}, at-least = 2 }}"
        for name in confidential[:1]
    ]
    lines.append(_ATTACKED)
    lines += ["", "[output]", f"path = {toml.value(output)}", _format(format), ""]
    return "\n".join(lines) + _map(guesses)


def _map(guesses: list[Guess]) -> str:
    """What a map may compare, as comments: it costs a release for each."""
    quasi = [made for made in guesses if made.role == Role.QUASI]
    searches = ["mondrian", "mdav"] if quasi else []
    if any(made.kind == Kind.SET for made in quasi):
        searches = ["set-mondrian"]
    sizes = toml.value([_K, 2 * _K, 4 * _K])
    blocks = [f'# [[map.methods]]\n# use = "{use}"\n# k = {sizes}\n' for use in searches]
    return "\n" + _MAP + "".join(blocks) if blocks else ""


def _format(read: str) -> str:
    """The format of the release: workbooks and files of statistical packages stay what they are."""
    if read not in (*SHEETS, *STAT):
        return 'format = "csv"'
    line = f'format = "{WRITTEN_AS.get(read, read)}"'
    return f"{line}  # {read} is read but not written" if read in WRITTEN_AS else line
