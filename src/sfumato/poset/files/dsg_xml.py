"""Hierarchy.xml and Columns.xml of the DSG Privacy Toolkit, as the columns of a plan.

H. Katirai: A theory and toolkit for the mathematics of privacy, 2006, examples 2 to 11.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ...errors import InputError, SfumatoError
from ...registry import find
from ...texts import escaped
from ..partial_order import PartialOrder

DEFAULT = "Default"
_BARE_KEY = re.compile("[A-Za-z0-9_-]+")
# The thesis prints this attribute without quotation marks, which is no XML.
_UNQUOTED = re.compile(rb"(xmlns:\w+=)([^\s\"'>]+)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_AGES = re.compile(r"\s*[0-9]{1,4}\s*(?:,\s*[0-9]{1,4}\s*)*")
_THEIRS = {
    "low": "LowerBound", "high": "UpperBound", "max_width": "MaxDiff", "bits": "Bits",
    "ages": "AgeRanges", "base": "BaseDate", "columns": "Columns", "values": "Value",
    "parents": "Parents",
}  # fmt: skip
Words = dict[str, Any]


@dataclass(frozen=True)
class ImportedColumn:
    """A column of Columns.xml: its poset in a plan's words, and its weight."""

    name: str
    poset: Words
    weight: float

    @property
    def words(self) -> Words:
        """What a plan says of the column. What is passed through is not looked for by anyone."""
        role = "insensitive" if self.poset["kind"] == "pass-through" else "quasi"
        return {"role": role, "poset": self.poset}


def read_columns(hierarchy: str | Path, columns: str | Path) -> list[ImportedColumn]:
    """The columns of Columns.xml with their posets from Hierarchy.xml, in order."""
    posets = _posets(_parsed(hierarchy), Path(hierarchy).name)
    out: dict[str, ImportedColumn] = {}
    label = Path(columns).name
    for element in _parsed(columns).iter("Column"):
        name = _need(element, "Name", label)
        key = (element.get("Hierarchy", DEFAULT), _need(element, "Poset", label))
        if key not in posets:
            known = ", ".join(list(dict.fromkeys(name for _, name in posets))[:9])
            raise InputError(
                f"{label}: column {name!r} has the poset {key[1]!r} of the hierarchy {key[0]!r}, "
                f"which {Path(hierarchy).name} does not define",
                remedy=f"define it, or use one of {known}" if known else "define it",
            )
        weight = _number(element, "Weight", label, 1.0)
        if weight < 0:
            raise InputError(
                f"{_place(element, label)}: Weight={element.get('Weight')!r} is below 0",
                remedy="give a weight of 0 or more",
            )
        if name in out:
            raise InputError(f"{label}: column {name!r} is there twice", remedy="take one out")
        out[name] = ImportedColumn(name, posets[key], weight)
    if not out:
        raise InputError(f"{label} has no <Column>", remedy="give the toolkit's Columns.xml")
    return list(out.values())


def plan_columns(hierarchy: str | Path, columns: str | Path) -> str:
    """The `[columns]` part of a plan, and the weights as a search's `importance`."""
    found = read_columns(hierarchy, columns)
    lines = ["[columns]"]
    lines += [f"{_key(column.name)} = {toml_text(column.words)}" for column in found]
    weights = {c.name: c.weight for c in found if c.weight > 0 and c.words["role"] == "quasi"}
    free = [c.name for c in found if not c.weight and c.words["role"] == "quasi"]
    if free:
        listed = ", ".join(map(toml_text, free))
        lines += ["", f"# Weight 0, which no search takes; they count as others do: {listed}"]
    if any(weight != 1 for weight in weights.values()):
        lines += ["", "# The weights of Columns.xml, for the step that searches:"]
        lines.append(f"# importance = {toml_text(weights)}")
    return "\n".join(lines) + "\n"


def _parsed(path: str | Path) -> Element:
    """The document's root. Entities are refused: they can ask for other files, or never end."""
    name = Path(path).name
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", remedy="mend the path") from error
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end

    def refuse(*_: Any) -> None:
        raise InputError(
            f"{name} declares a document type, which may hide entities", remedy="take it out"
        )

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(_UNQUOTED.sub(rb'\1"\2"', raw), True)
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        raise InputError(
            f"{name}, line {error.lineno}: it is no XML ({what})", remedy="mend it"
        ) from error
    return builder.close()


def _posets(root: Element, label: str) -> dict[tuple[str, str], Words]:
    """The posets by namespace and name; those outside of any are in the default one."""
    makers = {
        "RangePoset": _range,
        "MatrixPoset": _matrix,
        "PowerPoset": _power,
        "DateOfBirthPoset": _birth_date,
        "PassThroughPoset": lambda *_: {"kind": "pass-through"},
        "SuppressionPoset": lambda *_: {"kind": "suppression"},
    }
    out: dict[tuple[str, str], Words] = {}
    sparse: dict[tuple[str, str], Element] = {}
    for space, element in _walk(root):
        key = (space, _need(element, "Name", label))
        if key in out or key in sparse:
            raise InputError(f"{label}: the poset {key[1]!r} is defined twice", remedy="rename one")
        if element.tag == "SparseMatrixPoset":
            sparse[key] = element
        elif element.tag in makers:
            out[key] = _tried(makers[element.tag](element, label), element, label)
        else:
            known = ", ".join([*makers, "SparseMatrixPoset"])
            raise InputError(f"{label}: there is no <{element.tag}>", remedy=f"one of {known}")
    for (space, name), element in sparse.items():
        over = out.get((space, _need(element, "MatrixLatticeName", label)))
        if over is None or over["kind"] != "partial-order":
            raise InputError(
                f"{label}: {name!r} is over {element.get('MatrixLatticeName')!r}, "
                "which is no MatrixPoset of the same hierarchy",
                remedy="define it",
            )
        words: Words = {"kind": "code-frequency", "over": over}
        if "Columns" in element.attrib:
            words["columns"] = _whole(element, "Columns", label)
        out[space, name] = _tried(words, element, label)
    return out


def _walk(root: Element) -> Iterator[tuple[str, Element]]:
    """The posets with their namespaces, in the file's order, however deep they are."""
    waiting = [(DEFAULT, child) for child in reversed(root)]
    while waiting:
        space, element = waiting.pop()
        if element.tag.endswith("Poset"):
            yield space, element
        else:
            inner = element.get("Name", space)
            waiting += [(inner, child) for child in reversed(element)]


def _tried(words: Words, element: Element, label: str) -> Words:
    """The words of a poset, after one was made of them: a plan that cannot run is not printed."""
    parameters = {key: value for key, value in words.items() if key != "kind"}
    cls = find(words["kind"], "poset").load()
    for found in cls.complaints(parameters):
        ours = found.where.split(".")[0].replace("-", "_")
        attribute = _THEIRS.get(ours, ours)
        where = f"{_place(element, label)}: {attribute + ' ' if attribute else ''}"
        raise InputError(where + found.what, remedy=found.remedy or "mend it")
    source = cls.build(parameters)
    try:
        if isinstance(source, PartialOrder):
            source.order()
        source.bind([])
    except (ValueError, SfumatoError) as error:
        # A circle is told with arrows as well.
        what, arrow, remedy = str(error).rpartition(" -> ")
        what, remedy = (what, remedy) if arrow else (remedy, "mend it")
        raise InputError(f"{_place(element, label)}: {what}", remedy=remedy) from error
    return words


def _range(element: Element, label: str) -> Words:
    words: Words = {"kind": "interval"}
    for theirs, ours in (("LowerBound", "low"), ("UpperBound", "high"), ("MaxDiff", "max-width")):
        if theirs in element.attrib:
            words[ours] = _number(element, theirs, label)
    return words


def _matrix(element: Element, label: str) -> Words:
    names: dict[str, str] = {}
    where = f"{label}: {element.get('Name')!r}"
    for node in element.iter("Node"):
        at = _need(node, "ID", label)
        if at in names:
            raise InputError(f"{where} gives the ID {at!r} to two nodes", remedy="change one")
        names[at] = _need(node, "Name", label)
    if not names:
        raise InputError(f"{where} has no <Node>", remedy="give its nodes")
    if len(set(names.values())) < len(names):
        raise InputError(f"{where} gives one name to two nodes", remedy="rename one")
    parents: dict[str, list[str]] = {}
    values: dict[str, float] = {}
    for node in element.iter("Node"):
        at, name = _need(node, "ID", label), _need(node, "Name", label)
        ids = [found for found in re.split(r"[\s,;]+", node.get("Parents", "")) if found]
        stray = [found for found in ids if found not in names]
        if stray:
            raise InputError(
                f"{where}: {name!r} has the unknown parent {stray[0]!r}", remedy="mend it"
            )
        # The root is its own parent there.
        parents[name] = [names[found] for found in ids if found != at]
        if "Value" in node.attrib:
            values[name] = _number(node, "Value", label)
    root = element.get("RootNode")
    if root is not None and parents.get(names.get(root, ""), ["?"]):
        raise InputError(
            f"{where} has the root {root!r}, which is no node or has parents", remedy="mend it"
        )
    words: Words = {"kind": "partial-order", "parents": parents}
    if len(set(values.values())) > 1:
        # One value for all says nothing about what a generalization costs.
        words["values"] = values
    return words


def _power(element: Element, label: str) -> Words:
    return {"kind": "power-set", "bits": _whole(element, "Bits", label)}


def _birth_date(element: Element, label: str) -> Words:
    given = _need(element, "AgeRanges", label)
    if not _AGES.fullmatch(given):
        raise InputError(
            f"{_place(element, label)}: AgeRanges={given!r} is no list of ages",
            remedy='AgeRanges="5,30,50"',
        )
    words: Words = {"kind": "birth-date", "ages": [int(age) for age in given.split(",")]}
    base = element.get("BaseDate", "")
    if base:
        try:
            if not re.fullmatch("[0-9]{8}", base):
                raise ValueError(base)
            date = dt.date(int(base[:4]), int(base[4:6]), int(base[6:]))
        except ValueError:
            raise InputError(
                f"{_place(element, label)}: BaseDate={base!r} is no date",
                remedy='BaseDate="20060101"',
            ) from None
        words["base"] = date.isoformat()
    return words


def _place(element: Element, label: str) -> str:
    name = element.get("Name") or element.get("ID")
    return f"{label}: <{element.tag}>" + (f" {name!r}" if name else "")


def _need(element: Element, attribute: str, label: str) -> str:
    found = element.get(attribute)
    if not found:
        raise InputError(f"{label}: a <{element.tag}> has no {attribute}", remedy="give it one")
    return found


def _number(element: Element, attribute: str, label: str, usual: float | None = None) -> float:
    found = element.get(attribute)
    if found is None and usual is not None:
        return usual
    spelt = _need(element, attribute, label).strip()
    number = float(spelt) if _NUMBER.fullmatch(spelt) else math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{_place(element, label)}: {attribute}={found!r} is no number",
            remedy="write digits, such as 25 or 2.5",
        )
    # Beyond, a float is no longer exact, and its digits would only seem to be.
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _whole(element: Element, attribute: str, label: str) -> int:
    number = _number(element, attribute, label)
    if not isinstance(number, int):
        raise InputError(
            f"{_place(element, label)}: {attribute}={element.get(attribute)!r} is no whole number",
            remedy="write digits alone, such as 3",
        )
    return number


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml_text(name)


def toml_text(value: Any) -> str:
    """A value as TOML writes it in one line.

    >>> toml_text({"kind": "interval", "low": 0, "a b": [True, 2.5]})
    '{ kind = "interval", low = 0, "a b" = [true, 2.5] }'
    """
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {toml_text(part)}" for key, part in value.items())
        return "{ " + inside + " }" if inside else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, str):
        return escaped(json.dumps(value, ensure_ascii=False))
    return json.dumps(value)
