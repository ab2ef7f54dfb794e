"""Record linkage against every original compared with every masked record."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.criteria.classes import equivalence_classes
from sfumato.data.linkage.linking import limits
from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.methods.suppression.values import RandomSuppression
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Context, Measurement
from sfumato.risk.linkage.nearest import RecordLinkage
from sfumato.risk.linkage.open_file import NEAREST, SPECIFIC, WITHIN
from tests.oracle import risk as oracle
from tests.oracle.open_linkage import Cell, Intruders, hidden, plain
from tests.oracle.risk import Label

SCHEMA = {"x": pl.Float64, "y": pl.Int64, "s": pl.String}
numbers = st.one_of(st.none(), st.integers(-3, 3).map(lambda v: v / 2))
record = st.tuples(
    numbers, st.one_of(st.none(), st.integers(0, 4)), st.sampled_from(["a", "b", None])
)
two_files = st.lists(st.tuples(record, record), min_size=1, max_size=14)


def _table(rows: list[tuple[object, ...]]) -> Table:
    return table(pl.DataFrame(rows, schema=SCHEMA, orient="row"), quasi=["x", "y", "s"])


def _take(
    original: Table,
    masked: Table,
    rows: object = None,
    reference: Table | None = None,
    **parameters: object,
) -> Measurement:
    place = np.arange(original.height) if rows is None else np.asarray(rows, dtype=np.int64)
    context = Context(Pair(original, masked, place), np.random.default_rng(3), reference=reference)
    return RecordLinkage(**parameters).measure(context)


def _column(rows: list[tuple[object, ...]], j: int) -> list[object]:
    return [row[j] for row in rows]


@given(two_files, st.sampled_from(["own", "original"]), st.randoms(use_true_random=False))
def test_values_are_linked_as_by_every_pair(files: object, how: str, shuffle: object) -> None:
    original = [a for a, _ in files]
    # Some records are not released, the others come in another order.
    released = [i for i in range(len(original)) if shuffle.random() < 0.8] or [0]
    shuffle.shuffle(released)
    masked = [files[i][1] for i in released]
    like = masked if how == "own" else original
    za = [oracle.z_scores(_column(original, j), _column(original, j)) for j in (0, 1)]
    zb = [oracle.z_scores(_column(masked, j), _column(like, j)) for j in (0, 1)]

    def distance(i: int, j: int) -> float:
        apart = sum(oracle.squared(za[c][i], zb[c][j]) for c in (0, 1))
        return apart + (original[i][2] != masked[j][2])

    own = [released.index(i) if i in released else -1 for i in range(len(original))]
    expected = oracle.linkage(len(original), len(masked), distance, own)
    # Neither side can be asked about distances that differ by no more than a tie's tolerance.
    apart = np.array([[distance(i, j) for j in range(len(masked))] for i in range(len(original))])
    gap = apart - apart.min(axis=1, keepdims=True)
    assume(not ((gap > 1e-13) & (gap < 1e-7)).any())

    found = _take(_table(original), _table(masked), released, standardize=how)
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx(expected.credit)
    assert found.value == pytest.approx(float(np.mean(expected.credit)))
    assert found.interval == pytest.approx((expected.lost, expected.won))
    assert found.baseline == pytest.approx(1 / len(original))
    assert found.detail.get("records_not_released", 0) == len(original) - len(released)


long_files = st.lists(
    st.tuples(record, record, st.sampled_from(["p", "q", "r", None])), min_size=2, max_size=14
)


@given(long_files, st.randoms(use_true_random=False))
def test_any_record_of_the_same_person_is_a_success(files: object, shuffle: object) -> None:
    original, people = [a for a, _, _ in files], [pid for _, _, pid in files]
    released = [i for i in range(len(original)) if shuffle.random() < 0.8] or [0]
    shuffle.shuffle(released)
    masked = [files[i][1] for i in released]
    za = [oracle.z_scores(_column(original, j), _column(original, j)) for j in (0, 1)]
    zb = [oracle.z_scores(_column(masked, j), _column(masked, j)) for j in (0, 1)]

    def distance(i: int, j: int) -> float:
        apart = sum(oracle.squared(za[c][i], zb[c][j]) for c in (0, 1))
        return apart + (original[i][2] != masked[j][2])

    known = [pid for pid in people if pid is not None]
    repeats = 1 < len(set(known)) < len(known)

    def same(i: int, j: int) -> bool:
        return i == j or (repeats and people[i] is not None and people[i] == people[j])

    own = [{at for at, j in enumerate(released) if same(i, j)} for i in range(len(original))]
    expected = oracle.linkage(len(original), len(masked), distance, own)
    apart = np.array([[distance(i, j) for j in range(len(masked))] for i in range(len(original))])
    gap = apart - apart.min(axis=1, keepdims=True)
    assume(not ((gap > 1e-13) & (gap < 1e-7)).any())

    frame = pl.DataFrame(original, schema=SCHEMA, orient="row").with_columns(
        pl.Series("pid", people, dtype=pl.String)
    )
    t = table(frame, quasi=["x", "y", "s"], identifier=["pid"])
    found = _take(t, _table(masked), released)
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx(expected.credit)
    assert found.interval == pytest.approx((expected.lost, expected.won))
    guessed = sum(map(len, own)) / len(original) / len(masked)
    assert found.baseline == pytest.approx(guessed)


def test_labels_and_sets_are_linked_to_the_same_person_too() -> None:
    frame = {"pid": list("ppqq"), "age": [20, 30, 20, 40], "buys": [["tea"]] * 4}
    t = table(frame, quasi=["age", "buys"], identifier=["pid"])
    rows = [(a, ["tea"]) for a in ("[20, 30]", "[20, 30]", "[20, 30]", "[20, 40]")]
    masked = _labelled(t.without(["pid"]), rows, "age")
    for columns in (("age",), ("age", "buys")):
        found = _take(t, masked, columns=columns)
        # Of the three that leave less open two are the first person's, one the other's; 40 is in
        # the fourth alone.
        assert found.per_record is not None
        assert found.per_record.tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1.0])
    # Who knows of several records draws fewer.
    assert _take(t, masked, columns=("age",), sample=2).detail["sample"] == 2


AGES = [20, 30, 40, None]
KINDS = ["a", "b", "c", None]
age_labels = st.sampled_from(
    [
        Label("[20, 30]", frozenset({20, 30})),
        Label("20", frozenset({20})),
        Label("*", frozenset(AGES)),
        Label(">=30", frozenset({30, 40})),
        Label("(20, 40]", frozenset({30, 40})),
        Label(None, frozenset({None})),
    ]
)
kind_labels = st.sampled_from(
    [
        Label("{a, c}", frozenset({"a", "c"})),
        Label("a", frozenset({"a"})),
        Label("*", frozenset(KINDS)),
        Label("b", frozenset({"b"})),
        Label(None, frozenset({None})),
    ]
)
generalized = st.lists(
    st.tuples(
        st.tuples(st.sampled_from(AGES), st.sampled_from(KINDS), st.sampled_from([0.0, 1.0])),
        st.tuples(age_labels, kind_labels, st.sampled_from([0.0, 1.0])),
    ),
    min_size=1,
    max_size=14,
)


def _labelled(like: Table, rows: list[tuple[object, ...]], *names: str) -> Table:
    """A masked table whose columns of these names hold labels."""
    dtypes = {c.name: pl.String if c.name in names else like[c.name].dtype for c in like.schema}
    columns = [c.with_(generalized=c.name in names) for c in like.schema]
    return Table(pl.DataFrame(rows, schema=dtypes, orient="row"), Schema(columns))


@given(generalized)
def test_labels_are_linked_by_what_they_cover(files: object) -> None:
    # Four more originals show every value, so that the labels can be read; they are not released.
    original = [a for a, _ in files] + [(a, k, 0.0) for a, k in zip(AGES, KINDS, strict=True)]
    masked = [b for _, b in files]
    t = table(
        pl.DataFrame(
            original, schema={"age": pl.Int64, "kind": pl.String, "x": pl.Float64}, orient="row"
        ),
        quasi=["age", "kind", "x"],
    )
    cells = [[*(Cell(c.text, c.covers) for c in row[:2]), plain(row[2])] for row in masked]
    published = _labelled(t, [(a.text, k.text, x) for a, k, x in masked], "age", "kind")
    found = _as_by_three_intruders(t, published, original, cells, {2})
    assert found.detail["columns"] == {"numbers": ["x"], "labels": ["age", "kind"]}


def _as_by_three_intruders(
    t: Table, masked: Table, original: list, cells: list, numbers: set[int]
) -> Measurement:
    """The figure, compared with that of every pair; the first originals were released."""
    intruders = Intruders(original, cells, numbers)
    own = [i if i < len(cells) else -1 for i in range(len(original))]
    assume(not intruders.doubtful(own))
    expected = intruders.best(own)
    found = _take(t, masked, np.arange(len(cells)))
    assert found.value == pytest.approx(float(np.mean(expected)))
    assert found.per_record is not None
    names = {SPECIFIC: intruders.specific, NEAREST: intruders.nearest}
    said = found.detail["intruder"]
    credit = intruders.within_class(own) if said == WITHIN else intruders.credits(own, names[said])
    assert found.per_record.tolist() == pytest.approx(credit)
    lost, won = np.mean([c == 1 for c in credit]), np.mean([c > 0 for c in credit])
    assert found.interval == pytest.approx((lost, won))
    return found


HIDDEN = "hidden"
suppressed = st.lists(
    st.tuples(
        record,
        st.tuples(*(st.sampled_from(["kept", "kept", HIDDEN, "changed"]) for _ in range(3))),
        record,
    ),
    min_size=2,
    max_size=12,
)


@given(suppressed, st.integers(0, 3))
def test_suppressed_cells_are_linked_as_by_every_pair(files: object, more: int) -> None:
    original = [a for a, _, _ in files] + [b for _, _, b in files[:more]]
    domains = [[row[c] for row in original] for c in range(3)]
    values, marks, cells = [], [], []
    for a, how, b in files:
        row = [b[c] if how[c] == "changed" else a[c] for c in range(3)]
        gone = [h == HIDDEN for h in how]
        values.append([None if g else v for v, g in zip(row, gone, strict=True)])
        marks.append(gone)
        shown = zip(row, gone, domains, strict=True)
        cells.append([hidden(d) if g else plain(v) for v, g, d in shown])
    assume(np.any(marks))
    masked = Table(
        pl.DataFrame(values, schema=SCHEMA, orient="row"),
        _table(original).schema,
        {name: np.array(marks)[:, c] for c, name in enumerate(SCHEMA)},
    )
    _as_by_three_intruders(_table(original), masked, original, cells, {0, 1})


def _normals() -> Table:
    x = np.random.default_rng(0).normal(size=(200, 6)).round(3)
    names = [f"v{j}" for j in range(6)]
    return table(pl.DataFrame(x, schema=names), quasi=names)


def test_who_suppresses_much_of_one_record_does_not_hide_the_others() -> None:
    t = _normals()
    masked = RandomSuppression(k=3).mask(t, np.random.default_rng(0)).table
    found = _take(t, masked)
    # Whoever takes the consistent row with the fewest suppressed cells finds as many.
    x, y = (s.frame.to_numpy() for s in (t, masked))
    hidden_in = np.column_stack([masked.suppressed(name) for name in t.names])
    fits = ((x[:, None] == y[None]) | hidden_in[None]).all(axis=2)
    few = np.where(fits, hidden_in.sum(axis=1), 99)
    naive = (few.argmin(axis=1) == np.arange(200)).mean()
    assert naive > 0.95
    assert found.value >= naive
    assert found.detail["intruder"] == SPECIFIC


def test_one_record_without_values_draws_nobody_where_the_others_were_changed() -> None:
    rng = np.random.default_rng(1)
    t = _normals()
    x = t.frame.to_numpy() + 0.01 * rng.normal(size=(200, 6))
    gone = np.arange(200) == 7
    x[gone] = np.nan
    empty = pl.DataFrame(x, schema=t.names, nan_to_null=True)
    masked = Table(empty, t.schema, dict.fromkeys(t.names, gone))
    found = _take(t, masked)
    assert found.value > 0.9
    assert found.detail["intruder"] == NEAREST


def test_a_k_anonymous_release_is_linked_once_in_k() -> None:
    t = table({"age": [20, 21, 22, 30, 31, 32], "sex": list("ffmmff")}, quasi=["age", "sex"])
    masked = _labelled(t, [("[20, 22]", "*")] * 3 + [("[30, 32]", "*")] * 3, "age", "sex")
    found = _take(t, masked)
    assert found.value == pytest.approx(1 / 3)
    assert found.interval == (0.0, 1.0)
    assert found.baseline == pytest.approx(1 / 6)


def test_a_hierarchy_tells_what_its_labels_cover() -> None:
    tree = Hierarchy(levels=[["Ulm", "D", "*"], ["Bonn", "D", "*"], ["Nice", "F", "*"]])
    t = table({"city": ["Ulm", "Bonn", "Nice", "Nice"]}, quasi=["city"], posets={"city": tree})
    masked = _labelled(t, [("D",), ("Bonn",), ("F",), ("*",)], "city")
    # Of what fits the least is taken: D for Ulm, Bonn for Bonn, F for both from Nice. Whoever knows
    # the class finds the last one, too.
    found = _take(t, masked)
    assert found.per_record.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert found.detail["intruder"] == WITHIN


def test_a_hierarchy_may_be_published_as_sets_of_values() -> None:
    tree = Hierarchy(levels=[["Ulm", "D", "*"], ["Bonn", "D", "*"], ["Nice", "F", "*"]])
    t = table({"city": ["Ulm", "Bonn", "Nice"]}, quasi=["city"], posets={"city": tree})
    masked = _labelled(t, [("D",), ("{Bonn, Nice}",), ("{Bonn, Nice}",)], "city")
    assert _take(t, masked).per_record.tolist() == pytest.approx([1, 1 / 2, 1 / 2])


def test_a_suppressed_cell_covers_everything_and_a_missing_one_does_not() -> None:
    t = table({"x": [1.0, 2.0, 3.0], "s": ["a", "b", None]}, quasi=["x", "s"])
    gone = np.array([False, True, False])
    masked = t.with_columns(
        [pl.Series("x", [1.0, None, 3.0]), pl.Series("s", ["a", None, None])],
        suppressed={"x": gone, "s": gone},
    )
    # Record 2 fits everyone, but leaves more open; the third's own s is missing, as it was.
    found = _take(t, masked, standardize="original")
    assert found.per_record.tolist() == [1.0, 1.0, 1.0]


def test_identical_masked_records_are_ties_also_for_values() -> None:
    t = table({"x": [1.0, 2.0, 10.0, 11.0]}, quasi=["x"])
    masked = table({"x": [1.5, 1.5, 10.5, 10.5]}, quasi=["x"])
    found = _take(t, masked)
    assert (found.value, found.interval) == (0.5, (0.0, 1.0))


def test_dates_ordinals_and_sets_have_distances() -> None:
    day = dt.date(2024, 1, 1)
    frame = {
        "born": [day, day + dt.timedelta(1), day + dt.timedelta(100)],
        "grade": ["low", "mid", "high"],
        "codes": [["p", "q"], ["q"], []],
    }
    t = table(
        frame,
        quasi=[*frame],
        kinds={"grade": "ordinal"},
        categories={"grade": ["low", "mid", "high"]},
    )
    # The elements of a set have no order, and an ordinal column may name fewer categories.
    other = table(
        {"born": frame["born"], "grade": ["low", "mid", "mid"], "codes": [["q", "p"], ["q"], []]},
        quasi=[*frame], kinds={"grade": "ordinal"}, categories={"grade": ["low", "mid"]},
    )  # fmt: skip
    found = _take(t, other, standardize="original")
    assert found.per_record.tolist() == [1.0, 1.0, 1.0]
    assert found.detail["columns"] == {"numbers": ["born", "grade"], "sets": ["codes"]}


def test_a_sample_has_confidence_limits_and_the_same_seed_draws_it_again() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    t = table({"x": x}, quasi=["x"])
    masked = table({"x": x + rng.normal(size=400) * 0.01}, quasi=["x"])
    whole, part, again = _take(t, masked), _take(t, masked, sample=60), _take(t, masked, sample=60)
    assert part.value == again.value
    drawn = ~np.isnan(part.per_record)
    assert drawn.sum() == 60
    # A record's credit does not depend on who else was drawn.
    assert part.per_record[drawn].tolist() == whole.per_record[drawn].tolist()
    low, high = part.interval
    assert low < part.value < high
    assert low < whole.value < high
    assert "confidence" in part.detail["interval"]


def test_confidence_limits_where_they_are_known() -> None:
    # Clopper and Pearson: no hit among 60 bounds the share by the p that solves (1 - p)^60 = 0.025.
    assert limits(0, 60) == pytest.approx((0.0, 1 - 0.025 ** (1 / 60)))
    assert limits(60, 60) == pytest.approx((0.025 ** (1 / 60), 1.0))
    low, high = limits(30, 60)
    assert low == pytest.approx(1 - high)


def test_strangers_are_the_control() -> None:
    t = table({"x": [0.0, 1.0, 2.0, 3.0]}, quasi=["x"])
    strangers = table({"x": [0.5, 1.0]}, quasi=["x"])
    # Published as it is, every record is at distance 0 from its own; one stranger of two is as
    # close.
    found = _take(t, t, reference=strangers, standardize="original")
    assert found.detail["non_participants"] == {"records": 2, "at_least_as_close": 0.5}
    # Everything suppressed: everyone is at distance 0 from everything.
    hidden = _labelled(t, [("*",)] * 4, "x")
    assert (
        _take(t, hidden, reference=strangers).detail["non_participants"]["at_least_as_close"] == 1.0
    )
    # Own records at distances 0, 0, 0 and 1 (in squared steps): the stranger at 0.5 is nearer than
    # one of them.
    moved = table({"x": [0.0, 1.0, 2.0, 4.0]}, quasi=["x"])
    found = _take(t, moved, reference=strangers, standardize="original")
    assert found.detail["non_participants"]["at_least_as_close"] == pytest.approx((1 / 4 + 1) / 2)


def test_a_stranger_outside_the_hierarchy_is_covered_by_nothing_but_a_star() -> None:
    tree = Hierarchy(levels=[["Ulm", "D", "*"], ["Nice", "F", "*"]])
    t = table({"city": ["Ulm", "Nice"]}, quasi=["city"], posets={"city": tree})
    masked = _labelled(t, [("D",), ("F",)], "city")
    found = _take(t, masked, reference=table({"city": ["Rome"]}, quasi=["city"]))
    assert found.detail["non_participants"]["at_least_as_close"] == 0.0


def test_columns_can_be_named_and_lost_ones_are() -> None:
    t = table({"x": [1.0, 2.0], "y": [5.0, 5.0]}, quasi=["x", "y"])
    found = _take(t, t.without(["y"]))
    assert found.detail["left_out"] == {"y": "is not in the masked table"}
    assert _take(t, t, columns=("y",)).value == 0.5
    with pytest.raises(MeasureError, match="'y' is not in both"):
        _take(t, t.without(["y"]), columns=("y",))


def test_what_cannot_be_linked_says_why() -> None:
    t = table({"x": [1.0, float("inf")]}, quasi=["x"])
    with pytest.raises(MeasureError, match="infinite in row 2"):
        _take(t, t)
    plain = table({"x": [1.0, 2.0]}, quasi=["x"])
    with pytest.raises(MeasureError, match="several masked records"):
        _take(plain, plain, [0, 0])
    with pytest.raises(MeasureError, match="which masked record"):
        RecordLinkage().measure(Context(Pair.of(plain, plain, "none"), np.random.default_rng(0)))
    with pytest.raises(MeasureError, match="no records"):
        _take(plain, plain.take(np.array([], dtype=int)), [])
    with pytest.raises(MeasureError, match="no quasi-identifier"):
        _take(table({"x": [1.0]}), table({"x": [1.0]}))
    labels = _labelled(plain, [("small",), ("2",)], "x")
    with pytest.raises(MeasureError, match="label 'small'"):
        _take(plain, labels)
    with pytest.raises(MeasureError, match="reference table has no column 'x'"):
        _take(plain, plain, reference=table({"z": [1.0]}))


def test_minus_zero_is_zero() -> None:
    x = np.round(np.random.default_rng(3).normal(0, 0.3, (200, 4)), 1)
    assert np.signbit(x[x == 0]).any()
    names = [f"v{j}" for j in range(4)]
    t = table(pl.DataFrame(x, schema=names), quasi=names)
    masked = RandomSuppression(k=3).mask(t, np.random.default_rng(0)).table
    classes = equivalence_classes(masked)
    assert _take(t, masked).value >= classes.sizes.size / 200 - 1e-9
