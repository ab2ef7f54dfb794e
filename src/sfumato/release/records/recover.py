"""What an analyst can get back: the original's statistics, from nothing but what was published.

Noise widens variances by a known amount, and PRAM mixes frequencies by a known matrix. The methods
say what can be undone (`recovers`); this page finds them in a release and lets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...bounds import from_json
from ...data.io import read
from ...data.linkage.earlier import PARTS, named_first
from ...data.schema import SUPPRESSED, Kind
from ...data.table import Table
from ...errors import InputError, MethodError
from ...protocols import Method
from ...registry import find
from ..plan.step import build
from .release import DATA_NAMES, Release

_DROPS_RECORDS = ("sampling",)


@dataclass(frozen=True)
class Recovered:
    """What each step's method gives back, and what it does not."""

    by_step: Mapping[str, Mapping[str, Any]]
    """"1 correlated-noise" -> {"mean": {...}, "covariance": {...}, ...}"""
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, what: str) -> Any:
        """A statistic of the first step that recovers it: `recovered["mean"]["income"]`."""
        for found in self.by_step.values():
            if what in found:
                return found[what]
        known = sorted({name for found in self.by_step.values() for name in found})
        raise MethodError(f"{what} was not recovered", remedy=f"there is {', '.join(known)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"recovered": dict(self.by_step), "notes": list(self.notes)}


def recover(release: Release | str | Path) -> Recovered:
    """The original's statistics, estimated from a release or from its public folder.

    >>> from sfumato import method, protect, table
    >>> people = table({"income": [float(i % 97) for i in range(2000)]}, confidential=["income"])
    >>> noisy = protect(people, method("uncorrelated-noise", amount=0.5), seed=1)
    >>> abs(recover(noisy)["covariance"]["income"]["income"] / people["income"].var() - 1) < 0.1
    True
    """
    made = undoable(release)
    found = {one.label: one.method.recover(made.table, one.did) for one in made.steps}
    return Recovered(found, made.notes)


class Undoable(NamedTuple):
    """A step of a release whose method can give something back."""

    label: str
    method: Method
    did: Mapping[str, Any]


class Masked(NamedTuple):
    """What was published, the steps that can be undone, notes on those that cannot, and all
    columns that any step acted on."""

    table: Table
    steps: list[Undoable]
    notes: tuple[str, ...]
    touched: frozenset[str]


def undoable(release: Release | str | Path) -> Masked:
    """What of a release, or of its public folder, can be undone."""
    if not isinstance(release, Release | str | Path):
        raise InputError(
            f"a {type(release).__name__} is not a release", remedy="a Release, or its public folder"
        )
    if isinstance(release, Release):
        table, steps = release.table, release.evidence.steps
    else:
        table, read_steps = _published(Path(release))
        steps = tuple(read_steps)
    methods = [_method_of(step) for step in steps]
    found: list[Undoable] = []
    notes: list[str] = []
    for index, (step, method) in enumerate(zip(steps, methods, strict=True)):
        if method is None or not method.recovers:
            continue
        label = f"{index + 1} {method.name}"
        others = _touched_twice(index, steps)
        if others:
            notes.append(f"step {label}: also masked by another step: {', '.join(others)}")
            continue
        gone = [name for name in step["did"].get("columns", ()) if name not in table.schema]
        if gone:
            notes.append(f"step {label}: not published: {', '.join(gone)}")
            continue
        found.append(Undoable(label, method, step["did"]))
        dropped = [s["use"] for s in steps if s["use"] in _DROPS_RECORDS]
        if dropped:
            notes.append(
                f"step {label}: statistics of the records that {dropped[0]} left, not of all"
            )
    if not found:
        made = ", ".join(step["use"] for step in steps) or "no step"
        raise MethodError(
            f"nothing can be recovered: the release was made by {made}"
            + "".join(f"; {note}" for note in notes),
            remedy="take statistics from the release as it is",
        )
    touched = frozenset(name for step in steps for name in step["did"].get("columns", ()))
    return Masked(table, found, tuple(notes), touched)


def _method_of(step: Mapping[str, Any]) -> Method | None:
    """The method of a step, where it has anything to give back."""
    cls = find(step["use"], "method", "partitioner").load()
    if not getattr(cls, "recovers", ()):
        return None
    words, usual = step["parameters"], cls.model_fields
    # Only what was chosen: some parameters exclude others, even at their defaults.
    chosen = {
        name: value
        for name, value in words.items()
        if usual[name].is_required() or value != usual[name].get_default(call_default_factory=True)
    }
    thing = build("method|partitioner", step["use"], chosen)
    return thing if isinstance(thing, Method) else None


def _touched_twice(index: int, steps: Any) -> list[str]:
    """Columns that another step acted on as well: one undoing would not be enough."""
    mine = set(steps[index]["did"].get("columns", ()))
    others: set[str] = set()
    for other, step in enumerate(steps):
        if other != index:
            others |= mine & set(step["did"].get("columns", ()))
    return sorted(others)


def _published(folder: Path) -> tuple[Table, list[dict[str, Any]]]:
    """The data and the steps of a public folder."""
    evidence = folder / "evidence.json"
    if not evidence.is_file():
        raise InputError(
            f"{folder} is not a release: it has no evidence.json",
            remedy="name the public folder that `sfumato protect` made",
        )
    try:
        words = from_json(evidence.read_text(encoding="utf-8"))
        words["columns"], words["steps"]
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{evidence} is not the evidence of a release", remedy="name a folder of Sfumato's"
        ) from None
    found = [folder / name for name in DATA_NAMES.values() if (folder / name).is_file()]
    # A release that is larger than memory lies in a folder of parts.
    files = [folder / "data"] if any((folder / "data").glob(PARTS)) else found
    if not files:
        several = any(folder.glob("data-*"))
        raise InputError(
            f"{folder} holds several copies" if several else f"{folder} holds no data file",
            remedy="estimate on each, then combine them (docs/masking.md)"
            if several
            else "name the public folder",
        )
    kinds = {
        column["name"]: column["kind"]
        for column in words["columns"]
        # The width of numbers may have changed with masking; the file tells.
        if column["published"]
        and not column["generalized"]
        and column["kind"] not in (Kind.INTEGER, Kind.CONTINUOUS, Kind.ORDINAL)
    }
    file, mark = files[0], str(words.get("suppressed", SUPPRESSED))
    options = named_first(file)
    options |= {"missing": ("", mark)} if options else {"sentinels": [mark] if mark else None}
    return read(file, kinds=kinds, **options), words["steps"]
