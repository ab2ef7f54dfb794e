"""Attacks that intersect, over the known columns, the records that a target can have become."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.linked import TOLERANCE, Credit
from ..kernels.rank_windows import Windows, survivors
from .linking import Found, Targets, plain_match


def intersect(targets: Targets, windows: Windows, strangers: Windows | None) -> Found:
    """Link each target to the nearest record that is in the windows of all columns.

    `detail` says how many targets have a single record left (`known`: the intruder knows that he is
    right, and `known_right` says how often he is), how many are left on average, and how many have
    none. The control is the share of strangers with a single record left, whom the intruder would
    wrongly be certain to have found.
    """
    numbers = targets.numbers
    # Both files in the same units: their deviations differ by what was masked, not by the people.
    placed = numbers.as_published(targets.known)
    found = survivors(windows, placed, numbers.published, targets.own, tolerance=TOLERANCE)
    naive = plain_match(targets, (placed, np.where(numbers.hidden, np.nan, numbers.published)))
    single = found.remaining == 1
    detail: dict[str, Any] = {
        "columns": list(numbers.names),
        "known": float(single.mean()),
        "left": float(found.remaining.mean()),
        "none_left": int((found.remaining == 0).sum()),
    }
    if single.any():
        detail["known_right"] = float((found.own_left & single).sum() / single.sum())
    control = None
    if strangers is not None and targets.strangers is not None:
        nobody = np.full(len(targets.strangers), -1, dtype=np.int64)
        theirs = numbers.as_published(targets.strangers)
        others = survivors(strangers, theirs, numbers.published, nobody, tolerance=TOLERANCE)
        control = float((others.remaining == 1).mean())
        detail["control_is"] = "share of non-participants with a single record left"
    return Found(Credit.of(found.own_tied, found.ties), naive, detail, control)
