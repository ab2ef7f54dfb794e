"""The error about levels that do not have what is asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...errors import MethodError
from .known import all_hidden, levels_of
from .lattice import Lattice
from .optimal import Found

if TYPE_CHECKING:
    from .full_domain import FullDomain


def unsatisfied(asked: FullDomain, lattice: Lattice, found: Found) -> MethodError:
    """That no node has what is asked, and what it would take."""
    rules = " and ".join([f"k = {asked.k}", *(rule.name for rule in asked.criteria)])
    broken = lattice.least_suppression(lattice.top)
    capped = any(one.first + one.levels <= one.last for one in lattice.ladders)
    top = "at the highest levels that it may choose, " if capped else "fully generalized, "
    top = "" if lattice.size == 1 else top
    if broken == 1:
        needs = f"{top}no class does"
        if all_hidden(lattice, lattice.top):
            needs = "the whole table as one class does not satisfy them either"
    elif broken <= asked.suppress:
        needs = f"those who must be suppressed would be a class of fewer than {asked.k}"
        if asked.criteria:
            needs = "those who are suppressed would be a class that does not"
    else:
        needs = f"{top}{broken:.1%} of the records would have to be suppressed"
    remedy = "raise suppress, lower k, or loosen criteria"
    if lattice.size == 1:
        at = ", ".join(f"{name} = {level}" for name, level in levels_of(lattice, lattice.top))
        enough = math.ceil(max(broken, asked.k / lattice.n) * 1e4) / 1e4
        remedy = f"higher levels, suppress = {min(enough, 1.0):g} or more, or lower k"
        none = f"the levels {at} do not satisfy"
    else:
        # Which records to suppress for a criterion is tried one way, not every way.
        every = asked.strategy == "optimal" and not found.ended
        sure = every and not (asked.criteria and lattice.terms.most)
        none = "no combination of levels satisfies" if sure else "found no levels that satisfy"
        if capped:
            remedy += ", or raise highest"
    return MethodError(
        f"{none} {rules} with {asked.suppress:.1%} of the records suppressed: {needs}",
        remedy=remedy,
    )
