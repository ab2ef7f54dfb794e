"""Several releases of the same people, and tables of them, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter
from pydantic import field_validator

from ...errors import MeasureError
from ...progress import report
from ...protocols import Context, Measurement
from ..classes.covering import truth, whom
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import FEWEST, Trial
from .averaged import Nearest, averaged
from .cells import System
from .differenced import Differenced, by_counts, by_sums
from .releases import Releases, guessed
from .tables import plain_table, read_table


class Composition(ControlledAttack):
    """Put a release together with others of the same people, and with tables of them.

    The intruder has other releases (`given`, or those beside which the plan put this one), tables
    of counts and sums, people's quasi-identifiers, and knows who is in which release. He tries, as
    far as it applies:

    - all releases: of a confidential value, what the classes that fit a person leave in each; of
      those left the likeliest;
    - noise averaged: numbers that releases perturbed independently, over records that are linked
      by what is equal in both, weighted by how noisy each release is;
    - tables less what the release shows: a table's cells, hidden ones as far as totals give them
      back, added up to the release's own labels, less the records that lie there for certain; what
      is left are the values of those whose cells are hidden or labelled. Sums in the same way, by
      the number of those who are left;
    - who came or left between one release and the next has one of the values that the classes that
      fit them gained or lost.

    A table gives labels of columns and a figure: `tables = [{ path = "counts.csv" }]` or
    `{ cells = { sex = ["f", "m", "*"], ill = ["flu", "flu", "flu"], count = [3, "*", 5] } }`; "*"
    is a total among labels and hidden among figures, `value` names the figure's column unless it is
    `count`, `of` the column that was summed. What a table does not list is empty.

    The naive guess is the release's most frequent value, or the median of its numbers; what this
    release gives away by itself is in `detail` as `alone`. Controls are people outside, in none of
    the releases where private folders tell that; they are treated as if they were in them, and as
    if they had come when somebody in the data did. Where fewer than 2,000 people came, or lie in a
    cell with a remainder, all are tried, the others with the naive guess or the release alone. It
    takes releases and tables at their word: where values were exchanged, what is ruled out may be
    true, and more would be got by whoever reckons with that.
    """

    name: ClassVar[str] = "composition"
    paper: ClassVar[str] = (
        "Ganta, Kasiviswanathan & Smith (2008), Composition attacks and auxiliary information in "
        "data privacy, KDD; Sweeney (2002), k-anonymity: a model for protecting privacy, IJUFKS "
        "10(5); Dinur & Nissim (2003), Revealing information while preserving privacy, PODS"
    )
    knows: ClassVar[str] = (
        "a person's quasi-identifiers, which releases they are in, and all of these with the "
        "published tables"
    )

    given: tuple[str, ...] = Parameter(
        (),
        description="other releases of the same people, folders or data files in order of time; "
        "those that the plan names unless given",
    )
    tables: tuple[dict[str, Any], ...] = Parameter(
        (),
        description='published tables of the same people: { path = "counts.csv" } or { cells = '
        '{ sex = ["f", "m"], count = [3, "*"] } }, with by = [...] the columns of labels, value = '
        '"count" that of figures, and of = "COLUMN" where it was summed',
    )

    @field_validator("given", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return tuple(map(str, [given] if not isinstance(given, list | tuple) else given))

    @field_validator("tables", mode="before")
    @classmethod
    def _plain(cls, given: Any) -> Any:
        one = isinstance(given, Mapping) or not isinstance(given, list | tuple)
        return tuple(plain_table(table) for table in ([given] if one else given))

    def measure(self, context: Context) -> Measurement:
        if not self._paths(context) and not self.tables:
            raise MeasureError(
                f"{self.name} needs other releases or tables of the same people",
                remedy='given = ["FOLDER of a release"], or tables = [{ path = "counts.csv" }]',
            )
        if context.reference is None:
            raise MeasureError(
                f"{self.name} needs people who are in none of the releases, and those of a half "
                "are in the others",
                remedy="[input] reference = 0.2 holds some out before masking",
            )
        return super().measure(context)

    def _paths(self, context: Context) -> tuple[str, ...]:
        return self.given or (() if context.given is None else context.given.paths)

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        if not field.released:
            raise MeasureError("the release has no records", remedy="attack one that has")
        releases = Releases.of(field, self._paths(context), context)
        strangers = np.flatnonzero(releases.strangers)
        if not strangers.size:
            raise MeasureError(
                "everybody outside the data is in one of the other releases",
                remedy="name people who are in none of them: --reference FILE",
            )
        found = [*_left(releases), *_noise(releases, context.rng), *self._differenced(field)]
        if not found:
            raise MeasureError(
                f"{self.name} found nothing that the release shares with others or with tables",
                remedy="name releases with the same confidential columns, or tables of them",
            )
        return [_of_strangers(trial, strangers) for trial in found]

    def _differenced(self, field: Field) -> list[Trial]:
        if not self.tables:
            return []
        original = field.pair.original
        system = System(field, tuple(read_table(one, original) for one in self.tables))
        found = []
        for done, j in enumerate(field.secret):
            report("differencing tables", done, len(field.secret))
            for what, taken in (("counts", by_counts), ("sums", by_sums)):
                one = taken(system, j)
                if one is not None:
                    found.append(_pointed(field, f"{field.names[j]} by differencing {what}", one))
        return found


def _of_strangers(trial: Trial, rows: np.ndarray) -> Trial:
    """The same with the controls alone who are in none of the releases."""
    outside = np.arange(trial.outside.size) if trial.who_outside is None else trial.who_outside
    kept = np.isin(outside, rows)
    easy = trial.easy and (trial.easy[0], trial.easy[1][kept])
    return replace(trial, outside=trial.outside[kept], easy=easy, who_outside=outside[kept])


def _left(releases: Releases) -> list[Trial]:
    """What all releases leave, and what they gained where people came or left."""
    field = releases.last
    n = field.inside.size
    own = {name: truth(field, field.names.index(name)) for name in releases.shared}
    found = []
    for name, one in (guessed(releases, own) if own else {}).items():
        left = one.left[:n]
        detail = {
            "alone": float(one.alone[:n].mean()),
            "releases": len(releases.fields),
            "certain": float((left[:, 0] == 1).mean()),
            "certain_alone": float((left[:, 1] == 1).mean()),
        }
        easy = (one.naive[:n], one.naive[n:])
        found.append(
            Trial(
                f"{name} by all releases",
                one.both[:n],
                one.both[n:],
                easy=easy,
                detail=detail,
                example=_learnt(field, name, np.arange(n)),
            )
        )
        if not one.came[:n].any():
            continue
        inside, outside = np.flatnonzero(one.came[:n]), np.flatnonzero(one.came[n:])
        few = min(inside.size, outside.size) < min(FEWEST, n, field.outside.size)
        guess = np.where(one.came, one.moved, one.naive)
        if few:
            inside, outside = np.arange(n), np.arange(field.outside.size)
        found.append(
            Trial(
                f"{name} by who came or left",
                guess[:n][inside],
                guess[n:][outside],
                easy=(easy[0][inside], easy[1][outside]),
                who=inside,
                who_outside=outside,
                detail={
                    "came_or_left": float(one.came[:n].mean()),
                    "success_with_them": float(one.moved[:n][one.came[:n]].mean()),
                    "tried_on": "everybody" if few else "who came or left",
                },
                example=_learnt(field, name, inside),
            )
        )
    return found


def _noise(releases: Releases, rng: np.random.Generator) -> list[Trial]:
    """Numbers averaged over releases; where nothing is confidential, those that are known."""
    field = releases.last
    n = field.inside.size
    found = []
    nearest: Nearest = {}
    for j in field.secret or field.known:
        name = field.names[j]
        one = averaged(releases.fields, name, rng, nearest)
        if one is not None:
            found.append(
                Trial(
                    f"{name} by averaging noise",
                    one.right[:n],
                    one.right[n:],
                    easy=(one.naive[:n], one.naive[n:]),
                    detail={
                        "alone": float(one.alone[:n].mean()),
                        "releases": one.releases,
                        "linked": one.linked,
                    },
                    example=_guess(one.guess),
                )
            )
    return found


def _pointed(field: Field, what: str, one: Differenced) -> Trial:
    """Guesses of people who lie in a cell; of all, where they are few."""
    n = field.inside.size
    asked = whom(field, one.inside)
    name = what.split(" by ")[0]
    sides = [(part[:n][asked.inside], part[n:][asked.outside]) for part in one[:3]]
    return Trial(
        what,
        *sides[0],
        easy=sides[2],
        who=asked.inside,
        who_outside=asked.outside,
        detail={
            "alone": float(sides[1][0].mean()),
            "with_a_remainder": float(one.left[:n].mean()),
            "tried_on": "everybody" if asked.all else "people in cells of tables",
        },
        example=_learnt(field, name, asked.inside),
    )


def _guess(guess: np.ndarray) -> Callable[[int], Mapping[str, Any]]:
    def example(i: int) -> Mapping[str, Any]:
        return {"guess": float(guess[i])}

    return example


def _learnt(field: Field, name: str, who: np.ndarray) -> Callable[[int], Mapping[str, Any]]:
    def example(i: int) -> Mapping[str, Any]:
        return {"learnt": {name: field.person(int(who[i]))[name]}}

    return example
