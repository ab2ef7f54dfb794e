"""The gate: exactly the limit passes, just beyond is refused, and what is no number never passes;
on every copy, and again on the bytes that were written."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.classes import Grouping
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.data.io import write_file
from sfumato.data.pair import Pair
from sfumato.protocols import Context, Criterion, Finding, Measure, Measurement, Outcome
from sfumato.release.plan.requirement import Requirement, parse_requirement
from sfumato.release.records.evidence import Measuring
from sfumato.release.records.judging import judge
from sfumato.release.recount import written_pairs
from sfumato.tabular.base import TableMethod
from sfumato.tabular.outcome import TableOutcome, suppressed


def people() -> sf.Table:
    columns = {"name": list("ABCDEFGH"), "age": [1, 1, 1, 1, 2, 2, 2, 2], "pay": [3.0] * 8}
    return sf.table(columns, identifier=["name"], quasi=["age"], confidential=["pay"])


class Told(Measure):
    """The figure that it was given, or the release's mean pay."""

    name: ClassVar[str] = "told"
    figure: float | None = None

    def measure(self, context: Context) -> Measurement:
        figure = self.figure
        if figure is None:
            figure = float(context.pair.masked["pay"].mean())  # type: ignore[arg-type]
        return Measurement(self.name, figure)


class Doubled(sf.Method):
    """Several copies: the column's values, times each of these."""

    name: ClassVar[str] = "doubled"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    roles: ClassVar[tuple[str, ...]] = ("confidential",)
    times: tuple[float, ...] = (1.0, 2.0)

    def mask(self, table: sf.Table, rng: np.random.Generator) -> Outcome:
        made = [table.with_columns([table["pay"] * t]) for t in self.times]
        return Outcome(made[0], copies=tuple(made[1:]))


KEEP = sf.method("drop", columns=["name"])


@pytest.mark.parametrize(
    ("figure", "limits", "met"),
    [
        (0.5, {"at_most": 0.5}, True),
        (math.nextafter(0.5, 1), {"at_most": 0.5}, False),
        (0.5, {"at_least": 0.5}, True),
        (math.nextafter(0.5, 0), {"at_least": 0.5}, False),
        (0.0, {"at_most": 0.0}, True),
        (5e-324, {"at_most": 0.0}, False),
        (math.nan, {"at_most": 0.5}, False),
        (math.nan, {"at_least": 0.5}, False),
        (math.inf, {"at_most": 0.5}, False),
        (-math.inf, {"at_least": 0.5}, False),
    ],
)
def test_a_limit_on_a_measure(figure: float, limits: dict[str, float], met: bool) -> None:
    wanted = Requirement(Told(figure=figure), **limits)
    found = wanted.judge(Measurement("told", figure))
    assert (found.met, found.limit) == (met, next(iter(limits.values())))
    assert found.at_least == ("at_least" in limits)
    if met:
        assert sf.protect(people(), KEEP, require=[wanted], measures=(), seed=1).evidence.met
        return
    with pytest.raises(sf.ReleaseRefused, match="told"):
        sf.protect(people(), KEEP, require=[wanted], measures=(), seed=1)


@pytest.mark.parametrize("times", [(1.0, 2.0), (2.0, 1.0), (1.0, 2.0, 1.5)])
@pytest.mark.parametrize("way", ["at_most", "at_least"])
def test_the_worst_copy_decides_wherever_it_is(
    times: tuple[float, ...], way: str, tmp_path: Path
) -> None:
    worst = 3.0 * (max(times) if way == "at_most" else min(times))
    beyond = worst - 0.1 if way == "at_most" else worst + 0.1
    steps = [KEEP, Doubled(times=times)]
    for limit, met in ((worst, True), (beyond, False)):
        wanted = [Requirement(Told(), **{way: limit}), Requirement(KAnonymity(k=4))]
        if not met:
            with pytest.raises(sf.ReleaseRefused) as refused:
                sf.protect(people(), steps, require=wanted, measures=(), seed=1)
            assert refused.value.findings[0].value == worst
            continue
        release = sf.protect(people(), steps, require=wanted, measures=(), seed=1)
        first, second = release.evidence.findings
        assert (first.value, second.value) == (worst, 4)
        release.save(tmp_path / "out", allow_guessable_seed=True)


def test_the_worst_is_a_broken_one_first() -> None:
    """A measure that is no number is worse than any that is one."""
    from sfumato.release.records.judging import worst

    def one(value: float, *, met: bool, at_least: bool) -> Finding:
        return Finding("x", "x", value, 5.0, met, at_least)

    for at_least, values in ((True, (9.0, 7.0, 8.0)), (False, (1.0, 3.0, 2.0))):
        kept = [one(value, met=True, at_least=at_least) for value in values]
        assert worst(kept).value == values[1]
        broken = one(math.nan, met=False, at_least=at_least)
        assert not worst([*kept, broken]).met
        assert not worst([broken, *kept]).met


@pytest.mark.parametrize("what", ["pay", "age", "neither"])
def test_what_is_written_is_judged_again(what: str, tmp_path: Path) -> None:
    """A table that changed since it was judged: measures and criteria refuse its bytes."""
    wanted = [Requirement(Told(), at_most=3.0), Requirement(KAnonymity(k=4))]
    release = sf.protect(people(), KEEP, require=wanted, measures=(), seed=1)
    other = release.table
    if what != "neither":
        other = other.with_columns([pl.Series(what, np.arange(8.0) if what == "pay" else range(8))])
    changed = replace(release, pair=Pair(release.pair.original, other, release.pair.rows))
    if what == "neither":
        assert changed.save(tmp_path / "out", allow_guessable_seed=True).is_dir()
        return
    with pytest.raises(sf.ReleaseRefused):
        changed.save(tmp_path / "out", allow_guessable_seed=True)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_is_no_number_is_not_written(tmp_path: Path) -> None:
    release = sf.protect(people(), KEEP, measures=[Told(figure=math.inf)], seed=1)
    with pytest.raises(ValueError, match="Out of range"):
        release.save(tmp_path / "out", allow_guessable_seed=True)
    assert list(tmp_path.iterdir()) == []


def test_the_bytes_are_counted_and_not_what_was_to_be_written(tmp_path: Path) -> None:
    table = people().without(["name"])
    write_file(table, tmp_path / "data.csv", "csv", suppressed="*", escape_formulas=True)
    before = Pair(people(), table.take(np.zeros(8, np.int64)), np.arange(8))
    written = [tmp_path / "data.csv"]
    (pair,) = written_pairs(written, before, suppressed="*", escape_formulas=True)
    found = [KAnonymity(k=k).check_pair(pair) for k in (4, 5)]
    assert [(one.met, one.value) for one in found] == [(True, 4), (False, 4)]
    assert pair.masked["age"].to_list() == table["age"].to_list()


def test_a_criterion_that_finds_no_number_is_not_met() -> None:
    class Careless(KAnonymity):
        """Says that all is well with a figure that is none."""

        name: ClassVar[str] = "careless"

        def check_pair(self, pair: Pair) -> Finding:
            return Finding("careless", "careless", math.nan, 5.0, True, True)

    pair = Pair.of(people(), people())
    (found,) = judge([Requirement(Careless(k=2))], [pair], Measuring(0))
    assert not found.met


@pytest.mark.parametrize(
    ("name", "words", "complaint"),
    [
        ("k-anonymity", [], "requires nothing"),
        ("km-anonymity", 5, "needs a table"),
        ("record-linkage", {}, "one limit"),
        ("record-linkage", {"at-most": 0.1, "at-least": 0.0}, "one limit"),
        ("record-linkage", True, "not a finite number"),
        ("record-linkage", {"at-most": math.nan}, "not a finite number"),
        ("record-linkage", {"at-most": math.inf}, "not a finite number"),
        ("record-linkage", {"at-most": "0.1"}, "not a finite number"),
        ("k-anonymity", [{"k": 2}, {"k": 0}], "k"),
        ("withstand", {"at-most": 5}, "a share: 5 % is 0.05"),
        ("withstand", 1.01, "is no share"),
        ("withstand", {"at-least": 0.05}, "would require that it leaks"),
        ("linkability", {"at-least": 0.05}, "at-most"),
        ("withstand", False, "leave it out"),
    ],
)
def test_words_that_are_no_requirement(name: str, words: object, complaint: str) -> None:
    _, bad = parse_requirement(name, words)
    assert len(bad) == 1
    assert complaint in str(bad[0])


def test_words_that_are() -> None:
    for name, words, plan in (
        ("k-anonymity", 5, 5),
        ("k-anonymity", {"k": 5}, 5),
        ("record-linkage", 0.1, {"at-most": 0.1}),
        ("record-linkage", {"at_most": 0}, {"at-most": 0}),
        ("record-linkage", 1, {"at-most": 1}),
        ("prediction-distance", {"at-least": 3}, {"at-least": 3}),
        ("information-loss", {"at-least": 0.2}, {"at-least": 0.2}),
        ("k-anonymity", {"k": 5, "unit": "household"}, {"k": 5, "unit": "household"}),
    ):
        (found,), bad = parse_requirement(name, words)
        assert not bad
        written = found.to_plan()
        if isinstance(plan, dict):
            assert plan.items() <= written.items()
        else:
            assert written == plan
    both, _ = parse_requirement("l-diversity", [{"l": 2}, {"l": 3}])
    assert [one.thing.at_least for one in both] == [2, 3]  # type: ignore[union-attr]


class Tells(TableMethod):
    """Hides what it is told to, and promises nothing."""

    name: ClassVar[str] = "tells"
    hide: str = "none"

    def protect(
        self, table: sf.CellTable, problem: object, rng: np.random.Generator
    ) -> TableOutcome:
        hidden = problem.primary.copy()  # type: ignore[attr-defined]
        hidden[np.flatnonzero(hidden)[0 if self.hide == "none" else 1 :]] = False
        return suppressed(problem, hidden)  # type: ignore[arg-type]

    def judged(self, *_: object) -> tuple[Finding, ...]:
        return ()


@pytest.mark.parametrize("hide", ["none", "one"])
def test_no_sensitive_cell_is_published_whatever_a_method_promises(hide: str) -> None:
    cells = sf.tabulate(sf.generators.torra_towns(), ["town", "profession"], "salary", seed=0)
    rule = sf.method("dominance", n=1, k=50)
    with pytest.raises(sf.ReleaseRefused, match="sensitive cells whose true value is published"):
        sf.protect(cells, Tells(hide=hide), rules=[rule], seed=1, singletons=False)


def test_every_step_has_a_stream_of_its_own() -> None:
    """The same method at another place adds other noise; with the same seed, the same."""
    frame = pl.DataFrame({"a": np.arange(50.0), "b": np.arange(50.0), "c": np.arange(50.0)})
    table = sf.table(frame, quasi=["a", "b", "c"])
    noise = [sf.method("uncorrelated-noise", columns=[name]) for name in ("a", "b", "c")]
    release, again = (sf.protect(table, noise, seed=7, measures=()) for _ in range(2))
    rows = release.pair.rows
    added = {n: release.table[n].to_numpy() - table[n].to_numpy()[rows] for n in "abc"}
    for one, other in (("a", "b"), ("b", "c"), ("a", "c")):
        assert not np.isclose(added[one], added[other]).any()
    assert release.table.frame.equals(again.table.frame)
    other = sf.protect(table, noise, seed=8, measures=())
    assert not np.isclose(np.sort(other.table["a"]), np.sort(release.table["a"])).all()


def test_groups_follow_the_records_when_they_are_shuffled() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"a": rng.permutation(60), "pay": rng.normal(size=60)})
    table = sf.table(frame, quasi=["a"], confidential=["pay"])
    release = sf.protect(table, sf.method("mdav", k=3), seed=3, measures=())
    assert release.pair.rows is not None
    assert not np.array_equal(release.pair.rows, np.arange(60))
    assert np.array_equal(release.table["pay"], table["pay"].to_numpy()[release.pair.rows])
    labels, shown = release.partition.labels, release.table["a"].to_numpy()
    for label in np.unique(labels):
        assert len(set(shown[labels == label])) == 1
    assert len(set(zip(labels, shown, strict=True))) == labels.max() + 1


def test_groups_of_perturbed_records_follow_them_too() -> None:
    table = sf.table({"a": np.repeat([0.0, 1000.0], 30) + np.arange(60) % 7}, quasi=["a"])
    step = sf.step(sf.method("mdav", k=30), then="micro-perturbation")
    release = sf.protect(table, step, seed=3, measures=())
    assert release.groups is not None
    far = release.table["a"].to_numpy() > 500
    assert len(set(zip(release.groups.labels, far, strict=True))) == 2


def test_who_lives_together_is_not_published(tmp_path: Path) -> None:
    columns = {
        "name": [f"Person {i}" for i in range(20)],
        "home": [f"Home {i // 2}" for i in range(20)],
        "age": np.arange(20) // 5,
        "pay": np.arange(20.0),
    }
    table = sf.table(
        columns, identifier=["name"], household=["home"], quasi=["age"], confidential=["pay"]
    )
    several = sf.method("multiple-imputation", m=2, columns=["pay"])
    for number, step in enumerate((sf.method("mdav", k=5), several)):
        release = sf.protect(table, step, seed=2, measures=())
        for copy in release.tables:
            assert copy.names == ["age", "pay"]
        folder = release.save(
            tmp_path / str(number), ledger_exception="another step", allow_guessable_seed=True
        )
        for path in folder.iterdir():
            text = path.read_text("utf-8")
            assert "Person " not in text
            assert "Home " not in text
        assert any("home" in note and "dropped" in note for note in release.evidence.notes)


class Claims(Criterion):
    """Says that it is met, whatever its figure."""

    name: ClassVar[str] = "claims"
    value: float
    limit: float
    at_least: bool

    def check(self, table: sf.Table) -> Finding:
        return Finding(self.name, "the claim", self.value, self.limit, True, self.at_least)

    def keeps(self, grouping: Grouping) -> np.ndarray:
        return np.ones(len(grouping), dtype=bool)


@pytest.mark.parametrize("limit", [0.0, 0.5, 4.0, 1e6, math.inf])
@pytest.mark.parametrize("at_least", [True, False])
def test_a_claim_is_believed_only_where_the_figure_keeps_its_limit(
    limit: float, at_least: bool
) -> None:
    """But for rounding, which is a millionth of the limit, or of one."""
    rounding = 1e-6 * max(1.0, limit) if math.isfinite(limit) else 0.0
    away = -1.0 if at_least else 1.0
    figures = {limit: True, limit + away * 0.9 * rounding: True, limit - away: True}
    if math.isfinite(limit):
        figures |= {limit + away * 1.1 * rounding: False, limit + away: rounding >= 1.0}
    pair = Pair(people(), people(), np.arange(8))
    for value, met in figures.items():
        claim = Claims(value=value, limit=limit, at_least=at_least)
        (found,) = judge([Requirement(claim)], [pair], Measuring(0))
        assert found.met == met, value


def test_a_measure_with_a_limit_of_its_own() -> None:
    """It may be required without a figure; a figure that is given goes first."""
    name = "non-participation"
    for words, limit in ((True, 1.0), ({}, 1.0), (0.25, 0.25), ({"at-most": 0.5}, 0.5)):
        (found,), complaints = parse_requirement(name, words)
        assert (complaints, found.at_most, found.at_least) == ([], limit, None)
    for thing, words in ((name, False), ("record-linkage", True), ("record-linkage", {})):
        assert parse_requirement(thing, words)[1]
