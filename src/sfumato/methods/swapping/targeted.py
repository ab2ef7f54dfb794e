"""Households at risk that change areas with others like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import encode
from ...data.schema import SET_ASIDE
from ...data.table import Table
from ...errors import MethodError
from ...kernels.swapping.household import multiset_labels, sharing_households, swap_short
from ...progress import report
from ...protocols import Method, Outcome
from ..counts import exact_shares, published_shares
from .base import agreeing, gathered, joined
from .homes import Homes, homes_of

_RECORDS_EACH = 5
"""Records to a value on average, from which on a column can be told to determine another."""
_AT_RISK = (
    "some households at risk could not leave the area that they are at risk in: nobody outside of "
    "it matches them any more; add a profile with fewer columns to `match`"
)
_FEWER = (
    "fewer households of some areas were swapped than `rate` asks for: the others have no partner "
    "left or are held back by chance; name fewer columns in `match`, or lower `rate`"
)
_NOBODY = "nobody is at risk and `rate` is 0: nothing was swapped"
_ALL_LEFT = (
    "nobody at risk was held back: of whoever is rare in the whole file everybody knows that the "
    "published area is the wrong one, and of two areas which is the right one; leave `stay` out"
)


class TargetedSwap(Method):
    """Swap the areas of households at risk with matching ones elsewhere, and of some others.

    The geography (`columns`) is a hierarchy from coarse to fine. A household is at risk in an area
    if a member has values of the `key` columns that members of fewer than `k` households of the
    area have, itself counted. Who is at risk in a small area is not always so in the larger one
    around it: a household leaves the coarsest area in which it is at risk. Level by level from the
    coarsest, each such household is swapped with one from outside that area: the two exchange
    their geography, all levels of it, and the `carry` columns.

    Were that certain, everybody could undo it: who is rare in the whole file would not come from
    where it is published, and of two areas that leaves one. So at each level a household at risk
    is held back with the chance 1 / m, where m areas, its own among them, have a household that
    matches it. Who is held back, or has no match outside, keeps that area and is tried at the next
    finer level inside it. Of areas of one size each is then as likely the true one as any other,
    the published one too. With `stay` "never" nobody is held back.

    After that, households of every lowest area are swapped with others from outside of it until
    the share `rate` of the area has been swapped, partners counted. They are drawn one after the
    other with chances in proportion to 1 / the number of households that share the rarest
    combination of a member in the area.

    Partners have as many members, which have, in any order, the same values of the columns of a
    profile in `match`; the profile [] asks for nothing else. The first profile with a partner left
    decides, then the nearest larger area that holds one, so that nobody moves farther than need
    be; there each possible partner is equally likely, at risk or not. Nobody is swapped twice.

    Exactly kept: the number of households and of persons in each area, the joint table of the
    geography and the columns that every profile names, and all columns but the geography and those
    carried. Who is unique in an area afterwards need not come from there, nor from elsewhere. But
    who found no partner stays; of areas of several sizes the larger is the likelier, as it is
    without the release; and nothing keeps records from being matched on the other columns.

    The household of a record is its value in the column of role "household"; without such a column,
    or where it is missing, each record is a household of its own. A household with a missing or
    suppressed area, or with members in several areas, stays. Whether any were at risk, stayed so,
    or found no partner is private. A column that determines the geography or follows from it, as
    codes of smaller and larger areas do, must be moved along or dropped.

    >>> from sfumato.data.table import table
    >>> t = table({"town": list("AAABBB"), "job": ["judge", *["clerk"] * 5]}, quasi=["town", "job"])
    >>> swap = TargetedSwap(columns=("town",), k=2, rate=0)
    >>> [swap.mask(t, np.random.default_rng(seed)).table["town"][0] for seed in range(5)]
    ['B', 'A', 'A', 'A', 'B']
    """

    name: ClassVar[str] = "targeted-swap"
    perturbs: ClassVar[bool | None] = True
    example: ClassVar[dict[str, Any]] = {
        "columns": ["region", "town"],
        "key": ["age_group", "job"],
        "match": [["age_group"], []],
        "rate": 0.05,
    }
    paper: ClassVar[str] = (
        "Shlomo, Tudor & Groom 2010, Data swapping for protecting census tables, PSD, LNCS 6344; "
        "recommended by the project Harmonised protection of census data in the ESS (Eurostat 2017)"
    )

    columns: tuple[str, ...] = Field(
        min_length=1, description="geography from coarse to fine, swapped together"
    )
    key: tuple[str, ...] = Field(
        (),
        description="columns whose rare combinations put a household at risk; all other "
        "quasi-identifiers unless given",
    )
    k: int = Field(3, ge=1, description="households of an area that must share a combination")
    rate: float = Field(0.05, ge=0, le=1, description="share of each lowest area to swap at least")
    match: tuple[tuple[str, ...], ...] = Field(
        ((),),
        min_length=1,
        description="profiles of columns that the members of two households agree on, the best "
        "first",
    )
    carry: tuple[str, ...] = Field(
        (), description="columns of the whole household that go with the geography"
    )
    stay: Literal["even", "never"] = Field(
        "even",
        description="households at risk that stay: as many as make the published area as likely "
        "as any other, or none that can leave, which anybody can undo",
    )

    def named(self) -> tuple[str, ...]:
        return (*self.columns, *self.carry)

    def local_only(self) -> str:
        return "pairs households one after the other, each with one that the others left"

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        key = self._checked(table)
        homes = homes_of(table, self.columns)
        self._check_carried(table, homes)
        depth = len(self.columns)
        levels = [agreeing(table, self.columns[: i + 1]) for i in range(depth)]
        self._check_geography(table, levels)
        areas = [area[homes.first] for area in levels]
        combination = agreeing(table, key)
        fewest = [_fewest(homes, area, combination) for area in levels]
        at_risk = [(few < self.k) & homes.eligible for few in fewest]
        lived = np.bincount(areas[-1][homes.eligible], minlength=1)
        profiles = [
            multiset_labels(agreeing(table, names), homes.order, homes.starts)
            for names in self.match
        ]
        # Exponential times with the weights as rates: who comes first is drawn in proportion to
        # its weight, then the next among those left, and so on (Efraimidis & Spirakis 2006).
        times = rng.exponential(size=homes.total) * fewest[-1]
        pairs = _Pairs(profiles, areas, times, homes.eligible.copy(), np.arange(homes.total))
        if self.stay == "even":
            pairs.hold_back(at_risk, rng)
        for level in range(depth):
            report("swapping households", level, depth + 1)
            pairs.across(level, at_risk[level], lived, rng)
        # A share that is a whole number but for its rounding is one.
        wanted = np.ceil(self.rate * lived - 1e-9).astype(np.int64)
        report("swapping households", depth, depth + 1)
        pairs.across(depth - 1, homes.eligible, wanted, rng)
        return self._outcome(table, homes, pairs, levels, combination, at_risk, wanted)

    def _outcome(
        self,
        table: Table,
        homes: Homes,
        pairs: _Pairs,
        levels: Sequence[np.ndarray],
        combination: np.ndarray,
        at_risk: Sequence[np.ndarray],
        wanted: np.ndarray,
    ) -> Outcome:
        received = pairs.partner
        moving = received != np.arange(homes.total)
        # Whoever is at risk in a larger area is so in the smaller ones, too.
        anywhere = at_risk[-1]
        asked = self.rate > 0 or anywhere.any()
        if asked and not moving.any() and not pairs.possible(homes.eligible):
            raise MethodError(
                "targeted-swap found no two matching households in different areas",
                remedy="add a profile with fewer columns to `match`, recode them more coarsely, or "
                "name a geography with more than one area",
            )
        source = homes.sources(received)
        areas = [area[homes.first] for area in levels]
        left = [area[received] != area for area in areas]
        stuck = np.zeros(homes.total, dtype=bool)
        vain = pairs.alone.copy()
        for level, (risky, gone) in enumerate(zip(at_risk, left, strict=True)):
            stuck |= risky & ~gone
            vain |= risky & ~gone & (pairs.kept < level)
        below = {}
        for name, area, risky in zip(self.columns, levels, at_risk, strict=True):
            few = _fewest(homes, area[source], combination) < self.k
            after = int((few & homes.eligible).sum())
            below[name] = {"before": int(risky.sum()), "after": after}
        # Over all households chance hides who was swapped. What became of those at risk, who are
        # few and known, is for the owner alone.
        shares = {
            "share of households swapped": moving,
            "share of records swapped": moving[homes.of],
            **{
                f"share of households that left their {name}": gone
                for name, gone in zip(self.columns[:-1], left, strict=False)
            },
        }
        warnings = [*homes.warnings()]
        if vain.any():
            warnings.append(_AT_RISK)
        if self.stay == "never" and anywhere.any():
            warnings.append(_ALL_LEFT)
        if (pairs.short(wanted) > 0).any():
            warnings.append(_FEWER)
        if not asked:
            warnings.append(_NOBODY)
        marks = {name: table.suppressed(name)[source] for name in self.carry}
        return Outcome(
            table.with_columns(
                [gathered(table[name], source) for name in self.named()], suppressed=marks
            ),
            facts={
                "households": homes.total,
                "share of households to swap": self.rate,
                **published_shares(shares),
            },
            secrets={
                **exact_shares(shares),
                "households at risk": int(anywhere.sum()),
                "households at risk that stayed where they are at risk": int(stuck.sum()),
                "households at risk that found no partner": int(vain.sum()),
                "households at risk by area": below,
            },
            owner_warnings=tuple(warnings),
        )

    def _checked(self, table: Table) -> tuple[str, ...]:
        """The columns that put households at risk."""
        self.targets(table)
        moved = self.named()
        if len(set(moved)) < len(moved):
            raise MethodError(
                "a column is named twice in `columns` and `carry`", remedy="name it once"
            )
        for name in (*self.key, *(name for profile in self.match for name in profile)):
            table.schema[name]  # raises, if there is no such column
            if name in moved:
                raise MethodError(
                    f"column {name!r} changes places: nobody is matched or at risk by it",
                    remedy="name it in `columns` or `carry`, or in `match` and `key`, not in both",
                )
        return self.key or tuple(name for name in table.schema.quasi if name not in moved)

    def _check_geography(self, table: Table, levels: Sequence[np.ndarray]) -> None:
        """Whether columns go from coarse to fine, and no other tells where people lived."""
        alone = [_many(agreeing(table, [name])) for name in self.columns]
        for i, (coarse, fine) in enumerate(pairwise(self.columns)):
            if _many(levels[i]) == _many(levels[i + 1]) and alone[i] > alone[i + 1]:
                raise MethodError(
                    f"column {fine!r} divides no area of {coarse!r}, which is finer",
                    remedy="name `columns` from coarse to fine",
                )
        for column in table.schema:
            alike = all(column.name in profile for profile in self.match)
            if alike or column.name in self.named() or column.role in SET_ASIDE:
                continue  # partners have the same, or it goes along, or it is not published
            values = agreeing(table, [column.name])
            for name, area in zip(self.columns, levels, strict=True):
                sizes, joint = (_many(values), _many(area)), joined([values, area], table.height)
                # Of few records to a value each may live in one area by chance.
                known = [many for many in sizes if _RECORDS_EACH * many <= table.height]
                if min(sizes) > 1 and _many(joint) in known:
                    raise MethodError(
                        f"columns {column.name!r} and {name!r} determine one another: what stays "
                        "would tell who was swapped, and from where",
                        remedy=f"name {column.name!r} in `columns` or `carry`, or drop it before",
                    )

    def _check_carried(self, table: Table, homes: Homes) -> None:
        for name in self.carry:
            cells = joined([encode(table[name]).codes, table.suppressed(name)], table.height)
            differs = (cells != cells[homes.first][homes.of]) & homes.eligible[homes.of]
            if differs.any():
                raise MethodError(
                    f"column {name!r} differs within the household of row "
                    f"{int(differs.argmax()) + 1}, so that it cannot go with its geography",
                    remedy="carry columns of whole households, or leave it where it is",
                )


def _many(labels: np.ndarray) -> int:
    return int(np.unique(labels).size)


def _fewest(homes: Homes, area: np.ndarray, combination: np.ndarray) -> np.ndarray:
    """For each household how many of its area share the rarest combination of a member."""
    cells = joined([area, combination], area.size)
    many = sharing_households(cells, homes.of)
    if not many.size:
        return many
    found: np.ndarray = np.minimum.reduceat(many[homes.order], homes.starts[:-1])
    return found


def _different(group: np.ndarray, area: np.ndarray) -> np.ndarray:
    """For each household in how many areas its group lives."""
    if not group.size:
        return np.zeros(0, dtype=np.int64)
    _, firsts = np.unique(joined([group, area], group.size), return_index=True)
    found: np.ndarray = np.bincount(group[firsts])[group]
    return found


@dataclass
class _Pairs:
    """Who changes places with whom."""

    profiles: Sequence[np.ndarray]
    """For each profile a label of every household, shared by those that match."""
    areas: Sequence[np.ndarray]
    """For each level, from coarse to fine, the area of every household."""
    times: np.ndarray
    """When each household is drawn."""
    free: np.ndarray
    partner: np.ndarray
    kept: np.ndarray = field(init=False)
    """The finest level whose area a household is not to leave; -1: it may leave any."""
    alone: np.ndarray = field(init=False)
    """Households at risk that nobody matches outside an area that they are at risk in."""

    def __post_init__(self) -> None:
        self.kept = np.full(self.partner.size, -1)
        self.alone = np.zeros(self.partner.size, dtype=bool)

    def hold_back(self, at_risk: Sequence[np.ndarray], rng: np.random.Generator) -> None:
        """Decide who of those at risk stays in which area, before anybody is a partner: with the
        chance 1 / m, of m areas that hold a match."""
        leaves = np.zeros(self.partner.size, dtype=bool)
        for level, risky in enumerate(at_risk):
            asked = risky & ~leaves
            areas = np.ones(self.partner.size, dtype=np.int64)
            for match, around in product(self.profiles, range(level - 1, -2, -1)):
                asking = asked & (areas == 1) & (self.kept <= around)
                if asking.any():
                    among, group = self._groups(match, around, asking)
                    many = _different(group, self.areas[level][among])
                    areas[among] = np.where(asking[among], many, areas[among])
            stays = asked & (rng.random(asked.size) * areas < 1)
            self.kept[stays] = level
            self.alone |= asked & (areas == 1)
            leaves |= asked & ~stays

    def possible(self, able: np.ndarray) -> bool:
        """Whether any two of these match and live in different areas."""
        lowest = self.areas[-1][able]
        return any((_different(match[able], lowest) > 1).any() for match in self.profiles)

    def short(self, wanted: np.ndarray) -> np.ndarray:
        """How many households of each lowest area are to be swapped still."""
        moved = self.partner != np.arange(self.partner.size)
        found: np.ndarray = wanted - np.bincount(self.areas[-1][moved], minlength=wanted.size)
        return found

    def across(
        self, level: int, chosen: np.ndarray, wanted: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Pair the chosen, as long as their lowest area has not as many as are wanted, with
        households of other areas of a level: by the first profile and near by, then farther off,
        those left by the next profile."""
        for match, around in product(self.profiles, range(level - 1, -2, -1)):
            short = self.short(wanted)
            visiting = self.free & chosen & (self.kept <= around)
            visiting[visiting] = short[self.areas[-1][visiting]] > 0
            if visiting.any():
                among, group = self._groups(match, around, visiting)
                self._pair(among, group, level, visiting, short, rng)

    def _groups(
        self, match: np.ndarray, around: int, asking: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Those free to move inside areas of the level `around` (-1: anywhere) that match one who
        asks, and a label of those that match each other inside one area."""
        asked = np.zeros(int(match.max()) + 1, dtype=bool)
        asked[match[asking]] = True
        among = np.flatnonzero(self.free & (self.kept <= around) & asked[match])
        if around < 0:
            return among, match[among]
        return among, joined([match[among], self.areas[around][among]], among.size)

    def _pair(
        self,
        among: np.ndarray,
        group: np.ndarray,
        level: int,
        visiting: np.ndarray,
        short: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Pair those visited with others of their group that live in another area of the level."""
        area = self.areas[level][among]
        by_group = np.lexsort((area, group))
        among, group, area = among[by_group], group[by_group], area[by_group]
        block = np.zeros(among.size, dtype=np.int64)
        block[1:] = np.cumsum((np.diff(group) != 0) | (np.diff(area) != 0))
        visits = np.flatnonzero(visiting[among])
        visits = visits[np.argsort(self.times[among[visits]], kind="stable")]
        lowest = self.areas[-1][among]
        places, _ = swap_short(group, block, visits, rng.random(among.size), lowest, short)
        moved = places != np.arange(among.size)
        self.partner[among[moved]] = among[places[moved]]
        self.free[among[moved]] = False
