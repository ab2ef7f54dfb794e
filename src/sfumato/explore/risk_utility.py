"""Risk-utility maps: many releases of one table, each a point by what it loses and what it risks.

Duncan, Keller-McNulty & Stokes (2001), "Disclosure risk vs. data utility: the R-U confidentiality
map". A release is on the front if no other one is better in one respect and as good in the other.
All releases are compared by one loss, `marginals` unless another is asked for, on the same columns:
one that a method does not publish counts as suppressed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..data.schema import SET_ASIDE
from ..data.table import Table
from ..errors import ParameterError
from ..progress import Listener, silent
from ..protocols import Measure
from ..registry import find
from ..release.plan.plan import Map, Plan
from ..release.plan.step import Step, as_steps, build
from ..release.records.run import as_plan, hold_out, with_columns_of
from ..rng import checked_seed, stream
from ..utility.distributions.marginals import Marginals
from .figure_files import FIGURES, TABLES, check, write_by, write_chart
from .measured import Draw, Measured, in_order, side_by_side

NAMELESS = ("drop", "hash", "pseudonymize")
"""Steps of a plan that stay, since they take out names and do not mask."""


@dataclass(frozen=True, eq=False)
class RiskUtilityMap:
    """The releases of a map, and those that no other one beats."""

    data: pl.DataFrame
    """One row a release: labels, risk and loss, their spread, and whether it is on the front."""
    risk: Measure
    loss: Measure
    failed: Mapping[str, str] = field(default_factory=dict)
    """Releases that could not be made or measured, with the reason."""

    @property
    def front(self) -> pl.DataFrame:
        """The releases on the front, from the least loss to the least risk."""
        return self.data.filter(pl.col("front")).sort("loss")

    def figure(self, title: str = "") -> Any:
        """An Altair chart: loss to the right, risk upwards, the front as a line with names."""
        from .map_figure import chart

        return chart(self, title)

    def save(self, path: str | Path, title: str = "") -> Path:
        """The figure as .svg, .png, .pdf, .html or .json, or the data as .csv or .parquet."""
        path = Path(path)
        check(path, "map", (*FIGURES, *TABLES))
        if path.suffix == ".csv":
            write_by(path, self.data.write_csv)
        elif path.suffix == ".parquet":
            write_by(path, self.data.write_parquet)
        else:
            write_chart(self.figure(title), path)
        return path


def risk_utility_map(
    table: Any,
    methods: Iterable[Any] = (),
    plan: Any = (),
    *,
    risk: Any = None,
    loss: Any = None,
    draws: int | None = None,
    seed: int = 0,
    journal: str | Path | None = None,
    workers: int | None = None,
    progress: Listener | None = None,
) -> RiskUtilityMap:
    """Release a table by every method of a grid, and measure risk and loss of each.

    A method of the grid is a step, a method, a list of them that are taken one after the other, or
    words such as `{"use": "rank-swap", "p": [2, 4, 8]}`, where a list of values that the parameter
    cannot hold as it is stands for one release with each. They take the place of the masking steps
    of `plan`; what it drops, hashes or pseudonymizes comes first in every release. Random methods
    are drawn `draws` times and averaged. The same seed gives the same map. Releases are made by
    `workers` processes side by side; what was noted in `journal` is not made again.

    >>> import sfumato as sf
    >>> people = sf.table({"a": range(60), "b": [i * i % 61 for i in range(60)]}, quasi=["a", "b"])
    >>> found = risk_utility_map(people, [{"use": "rank-swap", "p": [5, 40]}], seed=1,
    ...                          risk="record-linkage")
    >>> found.data["label"].to_list()
    ['rank-swap p=5', 'rank-swap p=40']
    """
    chosen = as_plan(plan) if plan != () else Plan()
    wish = chosen.map or Map()
    given = {"risk": risk, "loss": loss, "draws": draws}
    words = wish.model_dump(exclude_unset=True) | {k: v for k, v in given.items() if v is not None}
    wish = Map.build(words)
    for measure in (wish.risk, wish.loss):
        if measure.direction != "lower":
            raise ParameterError(
                f"{measure.name} is better the higher it is, and a map is read downwards",
                remedy="a measure that is better the lower it is",
            )
    grid = expand([*([methods] if isinstance(methods, Mapping) else methods), *wish.methods])
    if not grid:
        raise ParameterError(
            "the map has no methods",
            remedy='[[map.methods]] use = "mondrian", k = [5, 10]; a draft has some as comments',
        )
    seed = checked_seed(seed)
    original, reference, _ = hold_out(with_columns_of(chosen, table), chosen, None, seed)
    first = tuple(step for step in chosen.steps if step.use.name in NAMELESS)
    wish = wish.model_copy(update={"loss": _on_one_ground(wish.loss, original, first)})
    tell = progress or silent
    labels, jobs = [], []
    for label, steps in grid.items():
        own = _draws(chosen.with_(steps=(*first, *steps), map=None), seed, label, wish)
        labels += [label] * len(own)
        jobs += own
    with side_by_side((original, reference), journal=journal, workers=workers) as runner:
        made = in_order(runner, jobs, lambda i, done: tell(labels[i], done, len(jobs)))
    tell("done", len(jobs), len(jobs))
    failed = {label: one.failure for label, one in zip(labels, made, strict=True) if one.failure}
    rows = [
        _row(label, steps, [one for of, one in zip(labels, made, strict=True) if of == label])
        for label, steps in grid.items()
        if label not in failed
    ]
    if not rows:
        raise ParameterError(
            "no release of the map could be made: "
            + "; ".join(f"{label}: {why}" for label, why in failed.items()),
            remedy="mend the methods, or the table's roles",
        )
    data = pl.DataFrame(rows)
    # What differs by the rounding of the machine does not differ.
    on_front = pareto(*(data[side].round(9).to_numpy() for side in ("loss", "risk")))
    return RiskUtilityMap(data.with_columns(front=on_front), wish.risk, wish.loss, failed)


def _on_one_ground(loss: Measure, original: Table, first: Sequence[Step]) -> Measure:
    """The loss on the same columns of every release, whatever a method leaves out."""
    if not isinstance(loss, Marginals) or loss.columns:
        return loss
    dropped = {name for s in first if s.use.name == "drop" for name in s.touches(original)}
    kept = [c.name for c in original.schema if c.role not in SET_ASIDE and c.name not in dropped]
    return loss.model_copy(update={"columns": tuple(kept), "unpublished": "suppressed"})


def pareto(loss: np.ndarray, risk: np.ndarray) -> np.ndarray:
    """Which points no other point beats: none has less of one without having more of the other.

    >>> pareto(np.array([1.0, 2.0, 2.0, 3.0]), np.array([5.0, 3.0, 4.0, 3.0])).tolist()
    [True, True, False, False]
    """
    order = np.lexsort((risk, loss))
    on_front = np.zeros(loss.size, dtype=bool)
    best, least = np.inf, np.inf
    for i in order:
        if risk[i] < best:
            on_front[i], best, least = True, risk[i], loss[i]
        elif risk[i] == best and loss[i] == least:  # an equal twin is as good
            on_front[i] = True
    return on_front


def _draws(plan: Plan, seed: int, label: str, wish: Map) -> list[Draw]:
    """The releases of one point."""
    draws = wish.draws if any(step.random for step in plan.steps) else 1
    seeds = [int(stream(seed, draw, f"map/{label}").integers(2**62)) for draw in range(draws)]
    return [Draw(plan, own, (wish.risk, wish.loss), excused=True) for own in seeds]


def _row(label: str, steps: Sequence[Step], made: Sequence[Measured]) -> dict[str, Any]:
    row: dict[str, Any] = {"label": label, "method": " + ".join(map(_kind, steps))}
    for i, side in enumerate(("risk", "loss")):
        values = [one.values[i] for one in made]
        row[side] = float(np.mean(values))
        row[f"{side}_low"], row[f"{side}_high"] = min(values), max(values)
    return row | {"draws": len(made)}


def _kind(step: Step) -> str:
    """What the figure tells apart: the method, and its verb where that is not the usual one."""
    usual = getattr(step.use, "default_verb", None)
    verb = None if step.then is None or step.then.name == usual else step.then.name
    return step.use.name + (f" then {verb}" if verb else "")


def expand(methods: Iterable[Any]) -> dict[str, tuple[Step, ...]]:
    """Every release of a grid by its label.

    >>> list(expand([{"use": "mdav", "k": [3, 5]}, {"use": "correlated-noise"}]))
    ['mdav k=3', 'mdav k=5', 'correlated-noise']
    """
    grid: dict[str, tuple[Step, ...]] = {}
    for given in methods:
        for name, steps in _expanded(given):
            label, number = name, 1
            while label in grid:
                number += 1
                label = f"{name} ({number})"
            grid[label] = steps
    return grid


def _expanded(given: Any) -> Iterable[tuple[str, tuple[Step, ...]]]:
    if isinstance(given, Mapping):
        words = {str(k).replace("-", "_"): v for k, v in given.items()}
        if "use" not in words:
            raise ParameterError("a method of the map needs `use`", remedy='use = "rank-swap"')
        name, then = words.pop("use"), words.pop("then", None)
        cls = find(name, "method", "partitioner").load()
        several = {
            key: value
            for key, value in words.items()
            if isinstance(value, list | tuple) and cls.complaints({**cls.example, key: value})
        }
        empty = [key for key, values in several.items() if not values]
        if empty:
            raise ParameterError(f"{name}: {empty[0]} has no values", remedy="name some, or none")
        verb = None if then is None else _verb(then)
        for chosen in itertools.product(*several.values()):
            own = words | dict(zip(several, chosen, strict=True))
            shown = {k: own[k] for k in words}
            step = Step(build("method|partitioner", name, own), verb)
            yield label_of(name, shown, None if verb is None else verb.name), (step,)
        return
    steps = as_steps(given)
    yield " + ".join(label_of(s.use.name, s.use.parameters(), None) for s in steps), steps


def _verb(then: Any) -> Any:
    words = {"use": then} if isinstance(then, str) else dict(then)
    return build("verb", words.pop("use"), words)


def label_of(name: str, parameters: Mapping[str, Any], then: str | None = None) -> str:
    """A method with its settings, as a figure names it."""
    settings = [
        f"{key.replace('_', '-')}={_short(value)}"
        for key, value in parameters.items()
        if key != "columns"
    ]
    return " ".join([name, *settings, *([f"then {then}"] if then else [])])


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = [f"{_short(v)}" if k == "use" else f"{k}={_short(v)}" for k, v in value.items()]
        return " ".join(inner)
    if isinstance(value, list | tuple):
        long = len(value) > 2 or any(isinstance(one, list | tuple) for one in value)
        return str(len(value)) if long else ",".join(map(_short, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
