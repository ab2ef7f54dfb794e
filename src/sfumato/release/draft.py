"""`sfumato init`: a commented plan for a file, for a person to read and correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..data.io import read_with_notes
from ..data.schema import Kind, Role
from ..data.table import Table
from . import toml
from .guess import Guess, guess, over_89

_K = 5
_ORDER = (
    (Role.IDENTIFIER, "Names people: dropped, or replaced by a pseudonym."),
    (Role.QUASI, "Others may know these: together they can single a person out."),
    (Role.CONFIDENTIAL, "What must not be learnt about a person."),
    (Role.TARGET, "What models will predict."),
    (Role.WEIGHT, "Sampling weights."),
    (Role.HOUSEHOLD, "Ties people of one household together."),
    (Role.INSENSITIVE, "Harmless."),
)


def draft_plan(
    source: Any, *, path: str | None = None, output: str = "release", **options: Any
) -> str:
    """A commented plan for a file or a table; each guess with its reason.

    >>> from sfumato.data.table import table
    >>> text = draft_plan(table({"name": ["A. Moss", "B. Reed"], "sex": ["f", "m"]}))
    >>> 'name = { role = "identifier", kind = "nominal" }' in text
    True
    """
    notes: list[str] = []
    if isinstance(source, Table):
        table = source
    else:
        table, notes = read_with_notes(source, **options)
        path = path or str(source)
    guesses = guess(table)
    parts = [_head(table, path, notes, options), _columns(table, guesses), _steps(table, guesses)]
    parts.append(_rest(guesses, output))
    return "\n".join(parts)


def _head(table: Table, path: str | None, notes: list[str], options: dict[str, Any]) -> str:
    lines = [
        f"# A draft for {Path(path).name if path else 'the table'}: {table.height:,} records, "
        f"{len(table.names)} columns.",
        "# Every role is a guess with its reason. Correct what is wrong, then protect.",
        "",
    ]
    lines += [f"# The reader noted: {note}" for note in notes]
    given = {"path": path} if path else {}
    given |= {key: value for key, value in options.items() if key in ("table", "query")}
    return "\n".join(lines) + "\n" + (toml.table("input", given) if given else "")


def _columns(table: Table, guesses: list[Guess]) -> str:
    lines = ["[columns]"]
    for role, meaning in _ORDER:
        chosen = [made for made in guesses if made.role == role]
        if not chosen:
            continue
        lines.append(f"# {role}. {meaning}")
        for made in chosen:
            words: dict[str, Any] = {"role": str(made.role), "kind": str(made.kind)}
            if made.kind == Kind.ORDINAL:
                words["categories"] = list(table.schema[made.name].categories)
            if made.poset:
                words["poset"] = made.poset
            lines.append(f"{toml.key(made.name)} = {toml.value(words)}  # {made.why}")
    return "\n".join(lines) + "\n"


def _steps(table: Table, guesses: list[Guess]) -> str:
    lines = ["# What is done, in this order. `sfumato methods` lists what there is."]
    names = [made.name for made in guesses if made.role == Role.IDENTIFIER]
    households = [made.name for made in guesses if made.role == Role.HOUSEHOLD]
    if names:
        lines += ["[[steps]]", 'use = "drop"                # the identifiers', ""]
    if households:
        lines += [
            "[[steps]]",
            'use = "pseudonymize"',
            f"columns = {toml.value(households)}",
            "",
        ]
    old = over_89(table, guesses)
    if old:
        lines += [
            "[[steps]]",
            'use = "top-bottom-coding"   # ages over 89 go into one category (HIPAA 3)',
            f"columns = {toml.value(old)}",
            "top = 90",
            "",
        ]
    if any(made.role == Role.QUASI for made in guesses):
        lines += [
            "[[steps]]",
            'use = "mondrian"            # groups of at least k that look alike',
            f"k = {_K}",
            "",
        ]
    return "\n".join(lines)


def _rest(guesses: list[Guess], output: str) -> str:
    lines = [
        "# What must hold, counted again on the published file; else nothing is written.",
        "[require]",
    ]
    if any(made.role == Role.QUASI for made in guesses):
        lines += [f"k-anonymity = {_K}", "record-linkage = { at-most = 0.2 }"]
    confidential = [
        made.name
        for made in guesses
        if made.role == Role.CONFIDENTIAL and made.kind in (Kind.NOMINAL, Kind.ORDINAL)
    ]
    lines += [
        f"# l-diversity = {{ column = {toml.value(name)}, at-least = 2 }}"
        for name in confidential[:1]
    ]
    lines += ["", "[output]", f"path = {toml.value(output)}", 'format = "csv"', ""]
    return "\n".join(lines)
