"""What publishing records pays, if an attacker acts for money (Wan et al. 2015)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ROUNDING = 1e-12
"""What rounding can make of a share or a product: who just breaks even does not attack."""


class Economics(NamedTuple):
    """What a record is worth to those concerned, in one currency."""

    benefit: float
    """What the publisher gains by a record that is published as it is."""
    penalty: float
    """What the publisher loses by a record that is attacked with success."""
    gain: float
    """What the attacker gains by it."""
    cost: float
    """What one attempt costs the attacker."""


def attacked(success: np.ndarray, economics: Economics) -> np.ndarray:
    """bool: the records that an attempt with this chance of success pays on.

    >>> attacked(np.array([0.01, 0.1]), Economics(1200, 300, 300, 4)).tolist()
    [False, True]
    """
    found: np.ndarray = economics.gain * np.asarray(success) > economics.cost * (1.0 + ROUNDING)
    return found


def published(loss: np.ndarray) -> np.ndarray:
    """bool: the records that tell something; those that lost everything are not published.

    >>> published(np.array([0.0, 0.5, 1.0])).tolist()
    [True, True, False]
    """
    found: np.ndarray = np.asarray(loss) < 1.0 - ROUNDING
    return found


def payouts(loss: np.ndarray, success: np.ndarray, economics: Economics) -> np.ndarray:
    """What publishing each record pays, by the share of its information that is lost; 0 for those
    that lost everything.

    >>> payouts(np.array([0.5, 0.5, 1]), np.array([0.01, 0.1, 1]), Economics(1200, 300, 300, 4))
    array([600., 570.,   0.])
    """
    paid = economics.benefit * (1.0 - np.asarray(loss))
    paid -= np.where(attacked(success, economics), economics.penalty * np.asarray(success), 0.0)
    found: np.ndarray = np.where(published(loss), paid, 0.0)
    return found
