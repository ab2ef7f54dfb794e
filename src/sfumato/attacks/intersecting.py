"""Attacks that intersect, over the known columns, the records that a target can have become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..data.linkage.linked import TOLERANCE, Credit
from ..kernels.neighbours.rank_windows import Survivors, Windows, survivors
from .linking import Found, People, Targets, plain_match


def intersect(
    targets: Targets, windows: Callable[[People], Windows], loose: Mapping[str, str]
) -> Found:
    """Link each target to the nearest record that is in the windows of all columns that have one.

    The distance is taken over all known columns; `loose` names those without a window, and why they
    have none. `detail` says how many targets have a single record left (`known`: the intruder knows
    that he is right, and `known_right` says how often he is), how many are left on average, and
    how many have none. The control is the share of strangers with a single record left, whom the
    intruder would wrongly be certain to have found.
    """
    numbers = targets.numbers
    # Both files in the same units: their deviations differ by what was masked, not by the people.
    placed = numbers.as_published(targets.known.x)
    found = _left(targets, targets.known, targets.own, windows, loose)
    naive = plain_match(targets, (placed, numbers.shown))
    single = found.remaining == 1
    detail: dict[str, Any] = {
        "columns": [name for name in targets.file.names if name not in loose],
        "known": float(single.mean()),
        "left": float(found.remaining.mean()),
        "none_left": int((found.remaining == 0).sum()),
    }
    if loose:
        detail["by_distance_alone"] = dict(loose)
    if single.any():
        detail["known_right"] = float((found.own_left & single).sum() / single.sum())
    control = None
    if targets.strangers is not None:
        nobody = np.full(len(targets.strangers.x), -1, dtype=np.int64)
        others = _left(targets, targets.strangers, nobody, windows, loose)
        control = float((others.remaining == 1).mean())
        detail["control_is"] = "share of non-participants with a single record left"
    return Found(Credit.of(found.own_tied, found.ties), naive, detail, control)


def _left(
    targets: Targets,
    people: People,
    own: np.ndarray,
    windows: Callable[[People], Windows],
    loose: Mapping[str, str],
) -> Survivors:
    # Categories that have a window are equal there.
    at = [j for j, name in enumerate(targets.categories.names) if name in loose]
    return survivors(
        windows(people),
        targets.numbers.as_published(people.x),
        targets.numbers.published,
        own,
        codes_a=people.codes[:, at],
        codes_b=targets.categories.masked[:, at],
        tolerance=TOLERANCE,
    )
