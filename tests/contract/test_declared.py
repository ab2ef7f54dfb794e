"""Plug-ins that declare nothing are treated as the worst, and those that lie are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import registry
from sfumato.data.partition import Cover, Partition
from sfumato.data.table import Table
from sfumato.errors import MeasureError, MethodError, ParameterError, ReleaseRefused
from sfumato.measurement import Finding, Measurement, Rounding
from sfumato.protocols import (
    Attack,
    Context,
    Criterion,
    Measure,
    Method,
    Outcome,
    Partitioner,
    Verb,
)
from sfumato.registry import Entry
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.requirement import Requirement
from sfumato.release.plan.step import Step
from sfumato.release.records.evidence import Measuring
from tests.contract.catalogue import each


def people(n: int = 40) -> Table:
    rng = np.random.default_rng(3)
    return sf.table(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "zip": rng.integers(0, 4, n),
            "ill": rng.choice(["flu", "cold"], n),
            "pay": rng.normal(100, 10, n),
        },
        identifier="name",
        quasi=["age", "zip"],
        confidential=["ill", "pay"],
    )


Change = Callable[[Table, np.random.Generator], Table]


def constant(table: Table, rng: np.random.Generator) -> Table:
    return table.with_columns([pl.Series("age", np.full(table.height, 30))])


def noisy(table: Table, rng: np.random.Generator) -> Table:
    return table.with_columns([table["zip"] + pl.Series(rng.integers(0, 3, table.height))])


def other_pay(table: Table, rng: np.random.Generator) -> Table:
    return table.with_columns([(table["pay"] * 2).alias("pay")])


class Undeclared(Method):
    name: ClassVar[str] = "test-undeclared"

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        return Outcome(constant(table, rng))


def method(change: Change, outcome: dict[str, Any] | None = None, **declared: Any) -> Method:
    """A method that makes this change and declares these things, true or not."""

    def mask(self: Method, table: Table, rng: np.random.Generator) -> Outcome:
        return Outcome(change(table, rng), **(outcome or {}))

    words = {"random": False, "perturbs": False, **declared}
    members = {
        "name": "test-liar",
        "mask": mask,
        "__annotations__": dict.fromkeys(["name", *words], "ClassVar"),
        "__module__": __name__,
        **words,
    }
    made: Method = type("Liar", (Method,), members)()
    return made


class Pairs(Partitioner):
    """Neighbours in age, two by two; declares nothing."""

    name: ClassVar[str] = "test-pairs"

    def partition(self, x: Any, rng: np.random.Generator) -> Partition | Cover:
        order = np.argsort(x.table["age"].to_numpy(), kind="stable")
        labels = np.empty(order.size, dtype=np.int64)
        labels[order] = np.arange(order.size) // 2
        return Partition(labels)


class Rings(Pairs):
    """Sets that overlap."""

    name: ClassVar[str] = "test-rings"
    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True

    def partition(self, x: Any, rng: np.random.Generator) -> Partition | Cover:
        n = x.table.height
        members = np.column_stack([np.arange(n), (np.arange(n) + 1) % n]).ravel()
        return Cover(np.arange(0, 2 * n + 1, 2), members)


class Plain(Verb):
    """A verb that declares nothing and makes groups alike."""

    name: ClassVar[str] = "test-plain"

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        assert isinstance(partition, Partition)
        first = np.unique(partition.labels, return_index=True)[1]
        made = [table[name].gather(first[partition.labels]) for name in columns]
        return Outcome(table.with_columns(made), partition=partition)


class Even(Criterion):
    """Always met; declares nothing."""

    name: ClassVar[str] = "test-even"

    def check(self, table: Table) -> Finding:
        return Finding(self.name, self.name, 1.0, 1.0, True, True)


class Third(Measure):
    """A third; declares nothing."""

    name: ClassVar[str] = "test-third"
    about: ClassVar[Any] = "utility"

    def measure(self, context: Context) -> Measurement:
        return self.result(1 / 3)


def protect(*steps: Any, require: Any = (), measures: Any = ()) -> sf.Release:
    plan = Plan(
        steps=tuple(s if isinstance(s, Step) else Step(s) for s in steps),
        requirements=tuple(Requirement(r) for r in require),
        measures=tuple(measures),
    )
    return sf.protect(people(), plan, seed=2**100)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(registry._extra)
    yield
    registry._extra.clear()
    registry._extra.update(before)


def one_anonymity() -> Criterion:
    made: Criterion = registry.find("k-anonymity", "criterion").load()(k=1)
    return made


# Who declares nothing.


def test_an_undeclared_method_is_taken_to_perturb_every_column() -> None:
    step = Step(Undeclared())
    assert step.perturbs
    assert step.random
    assert not step.regroups
    assert step.touches(people()) == set(people().names)
    with pytest.raises(ParameterError, match=r"cannot be promised.*test-undeclared"):
        protect(Undeclared(), require=[one_anonymity()])
    groups = protect(Undeclared(), measures=[Third()])
    assert groups.groups is not None
    assert groups.groups.suppressed.all()
    assert "test-third" in groups.evidence.not_taken


def test_an_undeclared_verb_is_taken_to_perturb_every_column() -> None:
    step = Step(sf.method("mondrian", k=3), Plain())
    assert step.perturbs
    assert not step.regroups
    assert step.touches(people()) == set(people().names)
    with pytest.raises(ParameterError, match="cannot be promised"):
        protect(step, require=[one_anonymity()])


def test_an_undeclared_search_does_not_regroup() -> None:
    step = Step(Pairs(), registry.find("generalize", "verb").load()())
    assert step.random
    assert not step.regroups
    noise = sf.method("uncorrelated-noise", columns=["age"])
    with pytest.raises(ParameterError, match="cannot be promised"):
        protect(noise, step, require=[one_anonymity()])
    declared = Step(sf.method("mondrian", k=2))
    assert protect(noise, declared, require=[one_anonymity()]).evidence.met


def test_an_undeclared_criterion_is_refused_beside_a_cover_and_after_noise() -> None:
    assert protect(sf.method("mondrian", k=3), require=[Even()]).evidence.met
    with pytest.raises(ParameterError, match="test-even cannot be promised: the sets of greedy"):
        protect(sf.method("greedy", k=3), require=[Even()])
    with pytest.raises(ParameterError, match="test-even cannot be promised: step 1"):
        protect(sf.method("uncorrelated-noise"), require=[Even()])


def test_an_undeclared_measure_is_not_taken_where_it_could_mean_nothing() -> None:
    made = protect(sf.method("mondrian", k=3), measures=[Third()])
    assert made.evidence["test-third"] == 1 / 3
    assert "stays the owner" in made.public().evidence.not_taken["test-third"]
    noisy_one = protect(sf.method("uncorrelated-noise", columns=["age"]), measures=[Third()])
    assert "perturbed" in noisy_one.evidence.not_taken["test-third"]
    assert not Third.usual
    drawn = protect(sf.method("gaussian-copula"))
    with pytest.raises(MeasureError, match="which masked record"):
        Measuring(0).take(Third(), drawn.pair)


class Breaks(Attack):
    """Always succeeds; declares nothing."""

    name: ClassVar[str] = "test-breaks"

    def measure(self, context: Context) -> Measurement:
        return self.outcome(2 / 3, naive=1 / 3, baseline=0.0, detail={})


def test_an_undeclared_attack_is_a_measure_that_says_nothing() -> None:
    assert Breaks().counts_classes
    assert Breaks().needs_alignment
    made = protect(sf.method("mondrian", k=3), measures=[Breaks()])
    assert "stays the owner" in made.public().evidence.not_taken["test-breaks"]
    noisy_one = protect(sf.method("uncorrelated-noise", columns=["age"]), measures=[Breaks()])
    assert "test-breaks" in noisy_one.evidence.not_taken


class Sorting(Undeclared):
    """Puts records into another order and tells nobody."""

    name: ClassVar[str] = "test-sorting"

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        return Outcome(table.take(np.argsort(table["pay"].to_numpy())))


def test_rows_of_who_declares_nothing_are_nobodys() -> None:
    linkage = registry.find("record-linkage", "measure").load()()
    made = protect(Sorting(), measures=[linkage])
    assert made.pair.rows is None
    assert "which masked record" in made.evidence.not_taken["record-linkage"]
    assert any("does not say what it does" in note for note in made.evidence.notes)
    verb = protect(Step(sf.method("mondrian", k=3), Plain()))
    assert verb.pair.rows is None


# Who lies.


def refused(use: Method, words: str) -> None:
    with pytest.raises(MethodError, match=words):
        protect(use)


def test_an_undeclared_column_may_not_be_touched() -> None:
    refused(method(other_pay), "test-liar changed column 'pay'")
    refused(method(lambda t, rng: t.without(["ill"])), "test-liar dropped column 'ill'")
    more = pl.Series("extra", range(40))
    refused(method(lambda t, rng: t.with_columns([more])), "test-liar made column 'extra'")
    marked = {"pay": np.arange(40) == 0}
    gone = method(lambda t, rng: t.with_columns([], suppressed=marked))
    refused(gone, "test-liar changed column 'pay'")


def test_roles_are_not_changed() -> None:
    hidden = people().schema["zip"].with_(role=sf.Role.INSENSITIVE)
    refused(method(lambda t, rng: t.with_columns([], [hidden])), "the role of column 'zip'")


def test_rows_are_declared() -> None:
    back = np.arange(40)[::-1].copy()
    refused(method(lambda t, rng: t.take(back)), "changed column")
    refused(method(lambda t, rng: t.take(back[:30])), "30 records of 40")
    twice = np.zeros(40, dtype=np.int64)
    liar = method(lambda t, rng: t.take(twice), {"rows": twice})
    refused(liar, "rows that it was not given")
    marks = method(lambda t, rng: t, {"rows": np.ones(40, dtype=bool)})
    refused(marks, "rows that it was not given")
    kept = method(lambda t, rng: t.take(back[:30]), {"rows": back[:30]})
    assert protect(kept).table.height == 30


def test_who_says_not_to_draw_may_not_draw() -> None:
    refused(method(noisy), "test-liar draws at random")
    refused(method(noisy, random=True), "does not perturb, and gave column 'zip'")
    alone = {"partition": Partition(np.arange(40))}
    refused(method(noisy, alone, random=True), "does not perturb, and gave column 'zip'")
    assert protect(method(noisy, random=True, perturbs=True)).groups is not None


def test_who_says_classes_may_not_make_overlapping_sets() -> None:
    def each_its_own(table: Table, rng: np.random.Generator) -> Table:
        ages = table["age"]
        return table.with_columns([pl.Series("age", [f"[{a}, {a + 9}]" for a in ages])],
                                  [table.schema["age"].with_(generalized=True)])  # fmt: skip

    labels = Partition(np.arange(40) // 2)
    refused(method(each_its_own, {"partition": labels}, regroups=True), "differ in column 'age'")

    class Hiding(Plain):
        """Takes the sets of a cover for classes."""

        perturbs: ClassVar[bool | None] = False

        def apply(
            self,
            table: Table,
            partition: Partition | Cover,
            columns: Sequence[str],
            rng: np.random.Generator,
        ) -> Outcome:
            return Outcome(constant(table, rng), partition=labels)

    made = protect(Step(Rings(columns=("age",)), Hiding()))
    assert made.partition is None
    with pytest.raises(ParameterError, match="the sets of test-rings overlap"):
        protect(Step(Rings(columns=("age",)), Hiding()), require=[Even()])


def test_a_verb_may_not_alter_confidential_values() -> None:
    class Altering(Plain):
        perturbs: ClassVar[bool | None] = False

        def apply(self, *given: Any) -> Outcome:
            made = super().apply(*given)
            return Outcome(other_pay(made.table, given[-1]), partition=made.partition)

    with pytest.raises(MethodError, match="test-plain changed column 'pay'"):
        protect(Step(sf.method("mondrian", k=3), Altering()))


def test_records_of_its_own_are_perturbed_ones() -> None:
    refused(method(constant, {"linked": False}), "records of its own and says otherwise")
    drawn = method(lambda t, rng: t, {"linked": False}, perturbs=True, columns=("age",))
    refused(drawn, "made column 'name'")


def test_identifiers_must_have_changed() -> None:
    liar = method(lambda t, rng: t, handles_identifiers=True, roles=("identifier",))
    refused(liar, "column 'name' no longer names anyone")

    def but_one(table: Table, rng: np.random.Generator) -> Table:
        return table.with_columns([pl.Series("name", [*table["name"][:1], *["x"] * 39])])

    words = {"handles_identifiers": True, "roles": ("identifier",)}
    refused(method(but_one, **words), "left names as they were")
    plain = people().with_columns([pl.Series("name", ["x"] * 40)])
    copied = method(lambda t, rng: plain, {"copies": (people(),)}, **words)
    refused(copied, "left names as they were")


def test_copies_are_looked_at_as_the_first_is() -> None:
    labels = Partition(np.zeros(40, dtype=np.int64))
    liar = method(constant, {"copies": (people(),), "partition": labels}, regroups=True,
                  columns=("age",))  # fmt: skip
    refused(liar, "differ in column 'age'")
    short = method(constant, {"copies": (people().without(["zip"]),)})
    refused(short, "releases of other columns")


def test_no_column_is_made() -> None:
    class Keeping(Undeclared):
        perturbs: ClassVar[bool | None] = False
        random: ClassVar[bool] = False

        def touches(self, table: Table) -> set[str]:
            return {"extra"}

        def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
            return Outcome(table.with_columns([table["name"].alias("extra")]))

    refused(Keeping(), "made column 'extra'")


def test_who_says_to_regroup_and_does_not_gets_no_promise() -> None:
    noise = sf.method("uncorrelated-noise", columns=["age"])
    idle = method(lambda t, rng: t, regroups=True)
    with pytest.raises(ParameterError, match="perturbed and not grouped afterwards"):
        protect(noise, idle, require=[one_anonymity()])
    labels = Partition(np.arange(40) // 2)
    with pytest.raises(MethodError, match="differ in column 'age'"):
        protect(noise, method(lambda t, rng: t, {"partition": labels}, regroups=True))
    with pytest.raises(ParameterError, match="the sets of greedy overlap"):
        protect(sf.method("greedy", k=3), idle, require=[Even()])
    grouped = protect(sf.method("greedy", k=3), sf.method("mondrian", k=3), require=[Even()])
    assert grouped.evidence.met


def test_labels_that_values_do_not_tell_overlap_unless_groups_are_named() -> None:
    def around(table: Table, rng: np.random.Generator) -> Table:
        made = [f"[{a - i % 3}, {a + 9}]" for i, a in enumerate(table["age"])]
        column = table.schema["age"].with_(generalized=True)
        return table.with_columns([pl.Series("age", made)], [column])

    with pytest.raises(ParameterError, match="the sets of test-liar overlap"):
        protect(method(around), require=[Even()])
    recoded = sf.method("rounding", columns=["age"], base=5)
    assert protect(recoded, require=[Even()]).evidence.met


def test_noise_on_labels_is_seen_when_the_steps_were_run() -> None:
    """On numbers, pram does nothing; on the labels that mondrian makes of them, it does."""
    steps = sf.method("mondrian", k=3), sf.method("pram")
    with pytest.raises(ParameterError, match="perturbed and not grouped afterwards"):
        protect(*steps, require=[one_anonymity()])


def test_a_criterion_counts_by_its_own_name_and_keeps_its_limit() -> None:
    class Boasting(Even):
        def check(self, table: Table) -> Finding:
            return Finding("k-anonymity", "k-anonymity", 5.0, 5.0, True, True)

    class Broken(Even):
        def check(self, table: Table) -> Finding:
            return Finding(self.name, self.name, 1.0, 5.0, True, True)

    made = protect(sf.method("mondrian", k=3), require=[Boasting()])
    assert [found.requirement for found in made.evidence.findings] == ["test-even"]
    with pytest.raises(ReleaseRefused):
        protect(sf.method("mondrian", k=3), require=[Broken()])


def test_a_measurement_shows_no_more_digits_than_its_measure_declares() -> None:
    class Exact(Third):
        def measure(self, context: Context) -> Measurement:
            more = {"tuple": (1 / 3,), "array": np.array([1 / 3]), "single": np.float32(1 / 3)}
            return Measurement(self.name, 1 / 3, detail=more)

    shown = protect(sf.method("mondrian", k=3), measures=[Exact()]).public().evidence
    assert "test-third" not in shown  # of so few records, no digit at all
    unknown = Measurement("x", 1 / 3, detail={"single": 1 / 3}).public(Rounding(300, 1))
    assert (unknown.value in (0.32, 0.34), unknown.detail) == (True, {})
    told = replace(Measurement("x", 1 / 3, detail={"array": np.array([1 / 3])}), depends="values")
    assert told.public(Rounding(10**9, 1)).detail == {"array": [pytest.approx(1 / 3, abs=1e-7)]}
    coarse = replace(told, decimals=2).public(Rounding(10**9, 1))
    assert coarse.value in (0.33, 0.34)
    assert coarse.detail["array"][0] in (0.33, 0.34)


def test_nothing_is_written_of_a_liar(tmp_path: Path) -> None:
    with pytest.raises(MethodError):
        protect(method(other_pay)).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# What comes with Sfumato.


def test_all_columns_may_be_imputed_beside_a_name() -> None:
    made = protect(sf.method("multiple-imputation", m=2))
    assert made.pair.rows is None
    assert all("name" not in table.schema for table in made.tables)


@each("method", "verb")
def test_changes_are_declared(entry: Entry) -> None:
    assert entry.load().perturbs is not None


@each("measure", "attack")
def test_measures_say_what_they_compare(entry: Entry) -> None:
    assert entry.load().compares in ("classes", "records", "tables")
