"""Linkage made for rank swapping (`rs-rl`, alias `rsld`): the slides' example, and the oracle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.data.linkage.linked import Known
from sfumato.data.linkage.rank_swapped import Reach, windows_of
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.methods.noise.additive import UncorrelatedNoise
from sfumato.methods.swapping.ranks import RankSwap
from sfumato.protocols import Context, Measurement, Method
from sfumato.risk.linkage.probabilistic import ProbabilisticLinkage
from sfumato.risk.linkage.rank_swap import RankSwapLinkage
from tests.oracle import rank_windows as oracle
from tests.oracle import risk

ORIGINAL = [
    (8, 9, 1, 3), (6, 7, 10, 2), (10, 3, 4, 1), (7, 1, 2, 6), (9, 4, 6, 4),
    (2, 2, 8, 8), (1, 10, 3, 9), (4, 8, 7, 10), (5, 5, 5, 5), (3, 6, 9, 7),
]  # fmt: skip
PROTECTED = [
    (10, 10, 3, 5), (5, 5, 8, 1), (8, 4, 2, 2), (9, 2, 4, 4), (7, 3, 5, 6),
    (4, 1, 10, 10), (3, 9, 1, 7), (2, 6, 9, 8), (6, 7, 6, 3), (1, 8, 7, 9),
]  # fmt: skip
NAMES = ["a1", "a2", "a3", "a4"]


def named(rows: list[tuple[int, ...]]) -> Table:
    return table(pl.DataFrame(rows, schema=NAMES, orient="row"), quasi=NAMES)


def take(
    original: Table,
    masked: Table,
    *steps: Method,
    reference: Table | None = None,
    **parameters: object,
) -> Measurement:
    context = Context(
        Pair.of(original, masked), np.random.default_rng(0), reference=reference, mechanism=steps
    )
    return RankSwapLinkage(**parameters).measure(context)


@pytest.mark.golden
def test_the_example_of_the_slides(
    golden_record: Callable[[str, object, object], None],
) -> None:
    """Record (6, 7, 10, 2), p = 2: the sets B as printed, and one record in all of them."""
    pair = Pair.of(named(ORIGINAL), named(PROTECTED))
    file = Known.of(pair, NAMES)
    one = file.numbers.original[[1]], file.categories.original[[1]]
    reach = dict.fromkeys(NAMES, Reach(0, 2))
    windows = windows_of(file.numbers, file.categories, *one, reach)
    sets = []
    for j in range(4):
        inside = windows.order[j, windows.low[0, j] : windows.high[0, j]]
        sets.append({PROTECTED[row] for row in inside})
    assert sets == [
        {(4, 1, 10, 10), (5, 5, 8, 1), (6, 7, 6, 3), (7, 3, 5, 6), (8, 4, 2, 2)},
        {(5, 5, 8, 1), (2, 6, 9, 8), (6, 7, 6, 3), (1, 8, 7, 9), (3, 9, 1, 7)},
        {(5, 5, 8, 1), (2, 6, 9, 8), (4, 1, 10, 10)},
        {(5, 5, 8, 1), (8, 4, 2, 2), (6, 7, 6, 3), (9, 2, 4, 4)},
    ]
    left = set.intersection(*sets)
    golden_record("torra example V: in all four sets B", [(5, 5, 8, 1)], sorted(left))
    assert left == {(5, 5, 8, 1)}
    # The intruder gets the row from the published file alone: (5, 5, 8, 1) is its second record.
    found = take(pair.original, pair.masked, count=2)
    assert found.per_record is not None
    assert found.per_record[1] == 1.0


@pytest.mark.golden
def test_the_scenarios_of_the_slides(
    golden_record: Callable[[str, object, object], None],
) -> None:
    """0, 2, 7 and 8 of 10 are linked in the slides; 0, 2, 7 and 7 here.

    With four columns seven records have one candidate left. The other three have two, and their own
    is the farther one by the Euclidean as by the city-block distance, so that the slide's eighth
    must come from how it broke a tie of another distance, or from luck.
    """
    found = take(named(ORIGINAL), named(PROTECTED), count=2, scenarios=4)
    shares = [round(10 * share, 9) for share in found.detail["scenarios"].values()]
    golden_record("torra example VI: RS-RL of ten (the eighth by luck)", [0, 2, 7, 8], shares)
    assert shares == [0, 2, 7, 7]
    assert found.detail["known_right"] == 1.0
    alone = take(named(ORIGINAL), named(PROTECTED), count=2)
    assert alone.detail["known"] == 0.7
    # The slides' probabilistic linkage finds nobody in any scenario, and neither does ours.
    context = Context(Pair.of(named(ORIGINAL), named(PROTECTED)), np.random.default_rng(0))
    assert ProbabilisticLinkage(scenarios=4).measure(context).value == 0.0


values = st.integers(0, 12).map(float)


@given(
    st.lists(st.tuples(values, values), min_size=3, max_size=14),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_linked_as_by_every_record(rows: list[tuple[float, float]], reach: int, seed: int) -> None:
    original = table(pl.DataFrame(rows, schema=["x", "y"], orient="row"), quasi=["x", "y"])
    step = RankSwap(count=reach)
    masked = step.mask(original, np.random.default_rng(seed)).table
    found = take(original, masked, step)
    a = [[row[c] for row in rows] for c in (0, 1)]
    b = [masked["xy"[c]].to_list() for c in (0, 1)]
    za, zb = [risk.z_scores(v, v) for v in a], [risk.z_scores(v, v) for v in b]
    credit, single, left = [], 0, 0
    for i in range(len(rows)):
        fit = [oracle.swappable(b[c], a[c][i], reach) for c in (0, 1)]
        allowed = [[b[c][j] in fit[c] for c in (0, 1)] for j in range(len(rows))]
        distance = [sum((za[c][i] - zb[c][j]) ** 2 for c in (0, 1)) for j in range(len(rows))]
        steps = np.diff(np.sort(distance))
        assume(not ((steps > 1e-13) & (steps < 1e-7)).any())
        count, _, ties, own_left, own_near = oracle.survivors(allowed, distance, i)
        assert own_left  # p is right, so nobody's own record is ever ruled out
        credit.append(own_near / ties)
        single += count == 1
        left += count
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx(credit)
    assert found.detail["known"] == pytest.approx(single / len(rows))
    assert found.detail["left"] == pytest.approx(left / len(rows))
    assert found.detail["none_left"] == 0
    assert found.detail.get("known_right", 1.0) == 1.0


def people(n: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)) + rng.normal(size=(n, 1))
    frame = pl.DataFrame(x, schema=["a", "b", "c", "d"])
    rough = frame.with_columns((pl.col("d") * 2).round(0).cast(pl.Int64))
    gaps = pl.Series(rng.random(n) < 0.1)
    return table(rough.with_columns(pl.when(gaps).then(None).otherwise("c").alias("c")),
                 quasi=["a", "b", "c", "d"])  # fmt: skip


@pytest.mark.parametrize("p", [0.5, 3.0, 10.0])
def test_what_the_intruder_knows_is_right(p: float) -> None:
    """With missing values and many ties, with p from the release's own steps."""
    original = people(400)
    step = RankSwap(p=p)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = take(original, masked, step)
    assert found.detail["none_left"] == 0
    assert found.detail["known"] > 0
    assert found.detail["known_right"] == 1.0
    assert found.value >= found.detail["known"]
    given = take(original, masked, p=p)
    assert given.detail["known_right"] == 1.0
    assert given.detail["none_left"] == 0


def test_a_wrong_p_shows() -> None:
    original = people(400)
    masked = RankSwap(p=10).mask(original, np.random.default_rng(1)).table
    found = take(original, masked, p=4.0)
    assert found.detail["none_left"] > 0
    assert found.detail["known_right"] < 1.0


def test_steps_say_how_far_each_column_went() -> None:
    original = people(100)
    first, second = RankSwap(count=3, columns=("a", "b")), RankSwap(count=4, columns=("b", "d"))
    rng = np.random.default_rng(1)
    masked = second.mask(first.mask(original, rng).table, rng).table
    found = take(original, masked, first, second)
    assert found.detail["ranks"] == {"a": 3, "b": 7, "c": 0, "d": 4}
    assert found.detail["known_right"] == 1.0
    noise = UncorrelatedNoise(columns=("b",))
    left = take(original, noise.mask(masked, rng).table, first, second, noise)
    assert left.detail["ranks"] == {"a": 3, "c": 0, "d": 4}
    assert left.detail["left_out"] == {"b": "was changed by uncorrelated-noise too"}
    with pytest.raises(MeasureError, match="rank-swap"):
        take(original, masked, noise)
    with pytest.raises(MeasureError, match="give p"):
        take(original, masked)
    with pytest.raises(ValueError, match="not both"):
        RankSwapLinkage(p=2.0, count=3)


def test_strangers_who_seem_to_be_found() -> None:
    original = people(400)
    step = RankSwap(p=5)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = take(original, masked, step, reference=people(300, seed=5))
    control = found.detail["non_participants"]
    assert control["records"] == 300
    assert 0 < control["single_left"] < found.detail["known"]
    assert control["none_left"] > 0.1


PUBLISHED = {
    ("census", 2): 77.73, ("census", 4): 66.65, ("census", 8): 41.28, ("census", 12): 19.87,
    ("eia", 4): 12.54,
}  # fmt: skip
EIA = [
    "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE",
    "OTHRSALES", "TOTREVENUE", "TOTSALES",
]  # fmt: skip


@pytest.mark.golden
@pytest.mark.parametrize(("name", "p"), list(PUBLISHED))
def test_rsld_of_the_slides(
    name: str,
    p: int,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    frame = pl.read_csv(shared_data("casc") / f"{name}.csv")
    frame = frame.select(EIA) if name == "eia" else frame
    original = table(frame, quasi=frame.columns)
    step = RankSwap(p=p)
    masked = step.mask(original, np.random.default_rng(p)).table
    found = 100 * take(original, masked, step, scenarios=7).value
    golden_record(f"RSLD {name} p={p}", PUBLISHED[name, p], round(found, 2))
    assert found == pytest.approx(PUBLISHED[name, p], abs=2.5)
