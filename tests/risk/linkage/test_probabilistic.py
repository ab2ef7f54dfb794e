"""Probabilistic record linkage (`prl`, alias `pld`) against every pair written down."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.environment import PEERS
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.kernels.neighbours.fellegi_sunter import estimate
from sfumato.methods.swapping.ranks import RankSwap
from sfumato.protocols import Context, Measurement
from sfumato.risk.linkage.assignment import assigned
from sfumato.risk.linkage.probabilistic import ProbabilisticLinkage, _tie_break
from tests.oracle import probabilistic as oracle
from tests.oracle import risk

SCHEMA = {"x": pl.Float64, "y": pl.Int64, "s": pl.String}
numbers = st.one_of(st.none(), st.integers(-4, 4).map(lambda v: v / 2))
record = st.tuples(
    numbers, st.one_of(st.none(), st.integers(0, 5)), st.sampled_from(["a", "b", "c", None])
)
two_files = st.lists(st.tuples(record, record), min_size=3, max_size=12)


def _table(rows: list[tuple[object, ...]]) -> Table:
    return table(pl.DataFrame(rows, schema=SCHEMA, orient="row"), quasi=["x", "y", "s"])


def take(
    original: Table, masked: Table, reference: Table | None = None, **parameters: object
) -> Measurement:
    pair = Pair.of(original, masked)
    context = Context(pair, np.random.default_rng(3), reference=reference)
    return ProbabilisticLinkage(**parameters).measure(context)


@settings(max_examples=25)
@given(two_files, st.sampled_from(["deviations", "exact"]), st.sampled_from(["share", "nearest"]))
def test_linked_as_by_every_pair(files: object, agreement: str, ties: str) -> None:
    original, masked = [a for a, _ in files], [b for _, b in files]
    n, within = len(files), 0.4
    za = [risk.z_scores([r[c] for r in original], [r[c] for r in original]) for c in (0, 1)]
    zb = [risk.z_scores([r[c] for r in masked], [r[c] for r in masked]) for c in (0, 1)]

    def agrees(i: int, j: int, c: int) -> bool:
        a, b = original[i][c], masked[j][c]
        if c == 2 or a is None or b is None:
            return a == b
        if agreement == "exact":
            return a == b
        gap = abs(za[c][i] - zb[c][j])
        # The kernel cannot be asked about differences at the very edge of the tolerance.
        assume(abs(gap - within) > 1e-7)
        return gap <= within

    found = take(_table(original), _table(masked), agreement=agreement, ties=ties, within=(
        within if agreement == "deviations" else None))  # fmt: skip
    said = found.detail["estimates"][0]
    written = oracle.patterns(agrees, n, n, 3)
    pairs = [g for row in written for g in row]
    # m and u are checked by the kernel's own tests; here they decide the links.
    exact = estimate(np.bincount(pairs, minlength=8), 1 / n)
    assert said["m"] == pytest.approx(exact.m.tolist(), abs=1e-6)
    assert said["u"] == pytest.approx(exact.u.tolist(), abs=1e-6)
    weight = [oracle.weight(g, exact.m, exact.u) for g in range(8)]
    gaps = np.diff(np.sort(weight))
    assume(not ((gaps > 1e-12) & (gaps < 1e-6)).any())
    credit = []
    for i in range(n):
        apart = None
        if ties == "nearest":
            apart = [sum(risk.squared(za[c][i], zb[c][j]) for c in (0, 1)) for j in range(n)]
            steps = np.diff(np.sort(apart))
            assume(not ((steps > 1e-13) & (steps < 1e-7)).any())
        count, own = oracle.link([weight[g] for g in written[i]], i, apart)
        credit.append(own / count)
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx(credit)
    assert found.value == pytest.approx(float(np.mean(credit)))
    assert found.baseline == pytest.approx(1 / n)


def mixed(n: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "s": rng.choice(["p", "q"], n)})
    return table(frame, quasi=["a", "b", "c", "s"])


def test_scenarios_are_averaged() -> None:
    original = mixed(80)
    masked = RankSwap(count=4).mask(original, np.random.default_rng(1)).table
    names = ["a", "b", "c", "s"]
    each = [take(original, masked, columns=tuple(names[:v])) for v in (1, 2, 3)]
    together = take(original, masked, scenarios=3)
    assert together.value == pytest.approx(np.mean([one.value for one in each]))
    assert list(together.detail["scenarios"]) == ["a", "a, b", "a, b, c"]
    assert together.interval is not None
    assert together.interval[0] <= together.value <= together.interval[1]


def test_identical_files_link_and_unrelated_ones_do_not() -> None:
    original = mixed(200)
    assert take(original, original).value == 1.0
    other = mixed(200, seed=9)
    assert take(original, other).value < 0.05


def test_strangers_are_less_likely_than_participants() -> None:
    original, stranger = mixed(300), mixed(300, seed=8)
    masked = RankSwap(count=3).mask(original, np.random.default_rng(1)).table
    found = take(original, masked, reference=stranger)
    assert found.value > 0.5
    # With three numbers and a letter many a stranger has some record that agrees in all.
    control = found.detail["non_participants"]["at_least_as_likely"]
    hidden = take(original, mixed(300, seed=7), reference=stranger)
    assert 0 < control < hidden.detail["non_participants"]["at_least_as_likely"] <= 1


def test_a_suppressed_cell_agrees_with_everything() -> None:
    original = table({"x": [1.0, 5.0, 9.0], "s": ["a", "b", "c"]}, quasi=["x", "s"])
    gone = np.array([False, True, False])
    masked = original.with_columns([pl.Series("x", [1.0, None, 9.0])], suppressed={"x": gone})
    found = take(original, masked, agreement="exact", ties="share")
    assert found.per_record is not None
    assert found.per_record.tolist() == [1.0, 1.0, 1.0]


def test_one_to_one_links_nobody_twice() -> None:
    """Both records look most like the first masked one; only one of them can have it."""
    pairs = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    chosen = assigned(*pairs, np.array([5.0, 1.0, 4.9, 3.0]), 2, 2, unlinked=0.0)
    assert chosen.tolist() == [0, 1]
    alone = assigned(np.array([0, 1]), np.array([0, 0]), np.array([2.0, 1.0]), 2, 1, unlinked=0.0)
    assert alone.tolist() == [0, -1]
    original = mixed(120)
    masked = RankSwap(count=6).mask(original, np.random.default_rng(2)).table
    free, bound = take(original, masked), take(original, masked, one_to_one=True)
    assert bound.interval is None
    assert bound.value > free.value  # each true link taken spares the others a mistake
    again = take(original, masked, one_to_one=True)
    assert again.value == bound.value


@pytest.mark.parametrize("ties", ["nearest", "share"])
def test_one_to_one_takes_nothing_from_the_order_of_the_files(ties: str) -> None:
    """Records that look alike cannot be told apart, however well the files are aligned."""
    two = table({"x": [1.0] * 40 + [5.0] * 40, "z": ["a"] * 80}, quasi=["x", "z"])
    found = take(two, two, one_to_one=True, ties=ties)
    assert found.value == pytest.approx(1 / 40)
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx([1 / 40] * 80)
    rng = np.random.default_rng(0)
    twins = np.repeat(rng.normal(size=(50, 2)), 2, axis=0)
    doubled = table(pl.DataFrame(twins, schema=["x", "y"]), quasi=["x", "y"])
    assert take(doubled, doubled, one_to_one=True, ties=ties).value <= 0.5
    # Coarse values, some of them masked: the same figure for the files in any order.
    x = rng.integers(0, 6, (60, 2)).astype(float)
    y = np.where(rng.random(x.shape) < 0.3, rng.integers(0, 6, x.shape), x)
    letters = rng.choice(["u", "v"], 60)

    def held(values: np.ndarray, order: np.ndarray) -> Table:
        frame = pl.DataFrame(values[order], schema=["x", "y"])
        return table(frame.with_columns(pl.Series("s", letters[order])), quasi=["x", "y", "s"])

    straight = np.arange(60)
    one, two_ = rng.permutation(60), rng.permutation(60)
    back = np.argsort(one)
    spec = ProbabilisticLinkage(one_to_one=True, ties=ties)
    pairs = (
        Pair(held(x, straight), held(y, straight), straight),
        Pair(held(x, one), held(y, two_), back[two_]),
    )
    figures = [spec.measure(Context(pair, np.random.default_rng(5))).value for pair in pairs]
    assert figures[0] == pytest.approx(figures[1])


def test_ties_broken_by_distance_outweigh_no_step_of_weight() -> None:
    """Over as many links as there are records."""
    weight = np.array([0.0, 1.0, 1.0001, 9.0])
    n = 5_000
    mine, z = np.arange(n), np.zeros((n, 1))
    for near in ((None, None), (z, z)):
        added = _tie_break(weight, *near, mine, mine, np.random.default_rng(0))
        assert 0 < added.sum() < 0.0001


def test_many_columns_that_tell_little_converge() -> None:
    rng = np.random.default_rng(3)
    names = [f"v{j}" for j in range(12)]
    original = table(pl.DataFrame(rng.normal(size=(600, 12)), schema=names), quasi=names)
    masked = RankSwap(p=20).mask(original, rng).table
    said = take(original, masked).detail["estimates"][0]
    assert "converged" not in said
    assert said["iterations"] < 3_000


def test_columns_with_labels_are_left_out_or_refused() -> None:
    original = table({"age": [20, 30, 40, 50], "s": ["a", "b", "c", "d"]}, quasi=["age", "s"])
    masked = table({"age": ["[20, 30]", "[20, 30]", "40", "50"], "s": ["a", "b", "c", "d"]},
                   quasi=["age", "s"])  # fmt: skip
    assert "labels" in take(original, masked).detail["left_out"]["age"]
    with pytest.raises(MeasureError, match="labels"):
        take(original, masked, columns=("age",))


def test_more_columns_than_patterns_can_be_counted() -> None:
    wide = table({f"v{j}": [1.0, 2.0] for j in range(17)}, quasi=[f"v{j}" for j in range(17)])
    with pytest.raises(MeasureError, match=r"17 columns .* too many patterns.* at most 16"):
        take(wide, wide)
    assert take(wide, wide, scenarios=7).value >= 0.5


def test_a_sample_is_said_and_has_limits() -> None:
    original = mixed(150)
    found = take(original, original, sample=40)
    assert found.detail["sample"] == 40
    assert found.per_record is not None
    assert np.isfinite(found.per_record).sum() == 40
    assert found.interval is not None
    assert found.interval[0] < found.value


PEER = """
import json, sys
import numpy as np, pandas as pd, recordlinkage
given = json.load(sys.stdin)
frame = pd.DataFrame(np.repeat(given["patterns"], given["counts"], axis=0)).add_prefix("c")
ecm = recordlinkage.ECMClassifier(init="jaro", max_iter=5000, atol=1e-12)
ecm.fit(frame)
m, u = ([float(side[c][1]) for c in frame.columns] for side in (ecm.m_probs, ecm.u_probs))
print(json.dumps({"m": m, "u": u, "share": float(ecm.p)}))
"""


SEEK = "import sys, importlib.util as u; sys.exit(u.find_spec('recordlinkage') is None)"


def _peer() -> str:
    """An interpreter that has recordlinkage."""
    for python in (Path(sys.executable), PEERS / "bin" / "python"):
        asked = [str(python), "-c", SEEK]
        if python.exists() and not subprocess.run(asked, capture_output=True).returncode:
            return str(python)
    pytest.skip("recordlinkage is not installed here nor in .venv-peers")


def test_estimates_are_those_of_recordlinkage() -> None:
    python = _peer()
    rng = np.random.default_rng(1)
    m, u = np.array([0.95, 0.8, 0.9]), np.array([0.05, 0.1, 0.2])
    pairs = np.concatenate([rng.random((500, 3)) < m, rng.random((20_000, 3)) < u])
    counts = np.bincount(pairs @ (1, 2, 4), minlength=8)
    patterns = [[g & 1, g >> 1 & 1, g >> 2 & 1] for g in range(8)]
    told = json.dumps({"patterns": patterns, "counts": counts.tolist()})
    run = subprocess.run(
        [python, "-c", PEER], input=told, capture_output=True, text=True, check=True
    )
    theirs = json.loads(run.stdout)
    ours = estimate(counts, 0.02, fixed_share=False, tolerance=1e-12, most=100_000)
    # The peer stops when its likelihood moves little, a thousandth short of the top.
    assert ours.m.tolist() == pytest.approx(theirs["m"], abs=1e-3)
    assert ours.u.tolist() == pytest.approx(theirs["u"], abs=1e-3)
    assert ours.share == pytest.approx(theirs["share"], abs=1e-3)


@pytest.mark.golden
@pytest.mark.parametrize(("p", "published"), [(2.0, 71.28), (4.0, 42.92), (20.0, 0.59)])
def test_census_after_rank_swapping(
    p: float,
    published: float,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    """The slide's PLD, up to what it leaves open: how numbers agree, and the seed.

    Seeds differ by a point; the rest of the tolerance is for the rule of agreement.
    """
    frame = pl.read_csv(shared_data("casc") / "census.csv")
    original = table(frame, quasi=frame.columns)
    masked = RankSwap(p=p).mask(original, np.random.default_rng(int(p))).table
    found = 100 * take(original, masked, scenarios=7).value
    golden_record(f"PLD census rank swapping p={p:g}", published, round(found, 2))
    assert found == pytest.approx(published, abs=8)
