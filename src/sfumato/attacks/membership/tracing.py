"""Membership by marginals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ...progress import report
from ...protocols import Context
from ..field import Field
from ..trial import Trial
from .claims import PARTS, MembershipAttack, claimed, parts_of
from .marginals import QUANTILES, at, marginals, released_shares, shares_of


class Tracing(MembershipAttack):
    """Claim that somebody is in the data whose cells of the marginals are fuller than they ought.

    The intruder has whole records of people, and a sample of others. For every pair of columns (for
    every column by itself where there are more than 30; numbers in twenty quantiles) he takes the
    share of the release in the person's cell less that of the others, and sums: each person in the
    data adds 1/n to their own cells (`plain`). Divided by the others' share and one person, rare
    cells speak louder (`relative`). `exact values` are columns by themselves and numbers to their
    last digit: where values are swapped or shuffled, and kept, a rare one tells that its owner is
    among them. A claim succeeds where the person is in the data; its control is the same claim
    about people who are not. The figure is the upper bound of TPR - FPR, at a threshold that was
    fixed on other people.

    It is the attack on releases that fit marginals better than a fresh sample would. The fewer
    cells there are beside the people, the less it can see.
    """

    name: ClassVar[str] = "tracing"
    knows: ClassVar[str] = (
        "the marginals of the release but not its plan, whole records of people who may be in the "
        "data, and whole records of others who are not"
    )
    paper: ClassVar[str] = (
        "Homer et al. (2008), Resolving individuals contributing trace amounts of DNA to highly "
        "complex mixtures, PLoS Genetics 4(8); Dwork, Smith, Steinke, Ullman & Vadhan (2015), "
        "Robust traceability from trace amounts, FOCS"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        parts = parts_of(field, context)
        scores = {
            **_of_marginals(field, parts.outside),
            "exact values": _of_values(field, parts.outside),
        }
        cut = [field.inside.size]
        return [
            claimed(what, parts, *np.split(score, cut, axis=1)) for what, score in scores.items()
        ]


def _of_marginals(field: Field, part: np.ndarray) -> dict[str, np.ndarray]:
    """Sums over marginals, (folds, people inside and outside)."""
    coded = field.coded(QUANTILES)
    people = np.concatenate((coded.inside, coded.outside))
    plain, relative = np.zeros((PARTS, len(people))), np.zeros((PARTS, len(people)))
    listed = marginals(len(coded.bins))
    for done, (a, b) in enumerate(listed):
        report("adding up marginals", done, len(listed))
        shares = released_shares(coded, a, b)
        shape = shares.shape[0], shares.shape[1]
        for f in range(PARTS):
            others = coded.outside[part == (f + 1) % PARTS]
            known = shares_of(others, shape, a, b)
            more = shares - known
            plain[f] += at(more, people, a, b)
            relative[f] += at(more / (known + 1.0 / len(others)), people, a, b)
    return {"plain": plain, "relative": relative}


def _of_values(field: Field, part: np.ndarray) -> np.ndarray:
    """Sums over columns of the logarithm of how much more frequent a value is in the release."""
    coded, numbers = field.coded(QUANTILES), field.numbers
    n = field.inside.size
    found = np.zeros((PARTS, n + field.outside.size))
    for j in range(len(coded.bins)):
        if field.is_number(j):
            everybody = np.concatenate((numbers[0][:, j], numbers[1][:, j]))
            values, own = np.unique(everybody, return_inverse=True, equal_nan=True)
            own, released = own.reshape(-1), numbers[2][:, j][coded.exact(j)]
            place = np.minimum(np.searchsorted(values, released), values.size - 1)
            same = values[place] == released
            counts = np.bincount(place[same], minlength=values.size)
        else:
            own = np.concatenate((coded.inside[:, j], coded.outside[:, j]))
            released = coded.cells[:, j]
            counts = np.bincount(released[coded.exact(j)], minlength=coded.bins[j].count)
        share = np.log((counts + 0.5) / (field.released + 1.0))
        # A missing value is nobody's own.
        told = np.concatenate((coded.inside[:, j], coded.outside[:, j])) < coded.bins[j].count - 1
        for f in range(PARTS):
            others = own[n:][part == (f + 1) % PARTS]
            known = np.bincount(others, minlength=counts.size)
            found[f] += told * (share - np.log((known + 0.5) / (others.size + 1.0)))[own]
    return found
