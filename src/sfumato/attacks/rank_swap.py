"""The attack on rank swapping by whoever knows p."""

from __future__ import annotations

from typing import Any, ClassVar

from ..data.linkage.rank_swapped import KnownLimit, reaches, windows_of
from ..protocols import Context
from .intersecting import intersect
from .linking import Found, LinkingAttack, Targets


class RankSwapAttack(KnownLimit, LinkingAttack):
    """Link records after rank swapping, knowing how far ranks can have moved.

    A target's record must lie within p ranks in every known column that was swapped, and be equal
    in every one that no step touched, categories among them; of those that do, the nearest is
    taken. Columns that another method changed count in the distance alone. The measure `rs-rl` is
    the same linkage without these; here it stands beside the nearest match of anybody who does not
    know p (`detail["naive"]`). `detail["known"]` is the share of targets with
    a single record left, whom the intruder knows to have found if he knows that they are in the
    data; `detail["control"]` is the share of non-participants who leave a single record, for whom
    that certainty would be wrong.
    """

    name: ClassVar[str] = "rank-swap-attack"
    paper: ClassVar[str] = (
        "Nin, Herranz & Torra (2008), Rethinking rank swapping to decrease disclosure risk, "
        "Data & Knowledge Engineering 64(1)"
    )
    example: ClassVar[dict[str, Any]] = {"p": 5.0}

    def attack(self, targets: Targets, context: Context) -> Found:
        file = targets.file
        reach, loose = reaches(context.mechanism, file, p=self.p, count=self.count)
        found = intersect(
            targets,
            lambda people: windows_of(file.numbers, file.categories, people.x, people.codes, reach),
            loose,
        )
        ranks = {name: sum(ranks) for name, ranks in reach.items()}
        return Found(found.credit, found.naive, {**found.detail, "ranks": ranks}, found.control)
