"""What is told of a table's risk: of a release, or of a file as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...data.table import Table
from ...errors import SfumatoError
from ..records.evidence import Evidence
from ..records.release import Release
from ..report import attacks, exposure, sections
from ..report.report import class_sizes, risks
from ..report.risk import Sizes, sizes
from ..report.words import headlines, words
from .people import Found, keep_people

_LINKED = "record-linkage"
_CLASS = "1 divided by the number of published records that are like it"
_NEAREST = (
    "how often its own published record is the nearest to it (record linkage); empty where it was "
    "not tried"
)


def of_release(folder: Path, release: Release) -> dict[str, Any]:
    """What pages show of a release's risk, for its owner; records are left in a folder."""
    evidence, found = release.evidence, sizes(release)
    people = keep_people(
        folder, release.pair.original, _found(release, found), release.private.input_rows
    )
    return {
        "cards": _cards(evidence),
        "classes": class_sizes(found, None, evidence.sampled),
        "exposure": exposure.section(evidence),
        "risks": risks(evidence),
        "measures": sections.measures(evidence, owner=True, about=("risk",)),
        "attacks": attacks.section(evidence, owner=True) if attacks.tried(evidence) else "",
        "people": people,
        "copies": len(release.copies),
        "perturbed": release.groups is not None,
        "linked": release.pair.rows is not None,
    }


def of_file(folder: Path, original: Table, evidence: Evidence) -> dict[str, Any]:
    """The same of a file as it is."""
    before = None
    if original.height and original.schema.quasi:
        from ...criteria.classes import published_classes

        classes = published_classes(original)
        before = classes.of_records(classes.sizes)
    risk = None if before is None else 1.0 / before
    how = "1 divided by the number of records that are like it"
    return {
        "cards": [[title, value, "", said] for title, value, _, said in _cards(evidence)],
        "classes": class_sizes(Sizes(before, None), None, 0),
        "exposure": exposure.section(evidence, assessed=True),
        "measures": sections.measures(evidence, owner=True, about=("risk",)),
        "people": keep_people(folder, original, Found(None, risk, how)),
    }


def _cards(evidence: Evidence) -> list[list[str]]:
    """The figures to be seen at a glance: title, value, beside it, what it means."""
    taken = evidence.measurements
    risky = {name: m for name, m in taken.items() if words(name).about == "risk"}
    return [[h.title, h.value, h.aside, h.sentence] for h in headlines(risky, evidence.sampled)]


def _found(release: Release, sizes: Sizes) -> Found:
    """How easily each original record is found in the release."""
    pair = release.pair
    if pair.rows is None or sizes.after is None:
        return Found()
    here = np.flatnonzero(pair.rows >= 0)
    after = np.full(pair.original.height, np.iinfo(np.int64).max)
    # A record that was published several times is as alone as its most lonely copy.
    np.minimum.at(after, pair.rows[here], sizes.after[here])
    after[after == np.iinfo(np.int64).max] = 0
    risk = np.divide(1.0, after, out=np.zeros(after.size), where=after > 0)
    how = _CLASS
    if release.groups is not None:  # records look alike by chance: that says nothing
        risk, how = _linked(release), _NEAREST
    place = np.full(pair.original.height, -1)
    place[pair.rows[here[::-1]]] = here[::-1]
    return Found(after, risk, how, pair.masked, place)


def _linked(release: Release) -> np.ndarray:
    taken = release.evidence.measurements.get(_LINKED)
    height = release.pair.original.height
    if taken is None:
        try:
            taken = release.measure(_LINKED)
        except SfumatoError:
            return np.full(height, np.nan)
    credit = taken.per_record
    fits = credit is not None and taken.per_record_of == "original" and len(credit) == height
    return np.asarray(credit) if fits else np.full(height, np.nan)
