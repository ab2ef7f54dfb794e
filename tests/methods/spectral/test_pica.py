"""Partitioned ICA swapping: what it keeps, what it hides, and how it chooses the size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.data.points.encoding import Encoding
from sfumato.data.points.placement import placements
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MethodError, ParameterError
from sfumato.kernels.neighbours.prediction import predictions
from sfumato.kernels.statistics.non_inferiority import shortfall
from sfumato.methods.spectral import pica as module
from sfumato.methods.spectral import pica_size
from sfumato.methods.spectral.pica import Pica
from sfumato.progress import listening
from tests.oracle.pica import lost_components, principal_scores


def mixed(n: int, seed: int = 0) -> Table:
    """Two kinds of patients, with numbers and categories."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    a = rng.standard_normal(n) + 4 * kind
    return table(
        {
            "a": a,
            "b": a * np.where(kind, 1.0, -1.0) + rng.standard_normal(n),
            "c": np.exp(rng.standard_normal(n)),
            "sex": rng.choice(["f", "m"], n),
            "blood": rng.choice(["0", "A", "B"], n),
        }
    )


NAMES = ("a", "b", "c", "sex", "blood")


@settings(max_examples=25)
@given(
    st.integers(2, 70), st.integers(1, 9), st.integers(2, 40),
    st.sampled_from(["ica", "pca"]), st.integers(0, 2**32),
)  # fmt: skip
def test_means_are_exact_and_the_input_stays(
    n: int, p: int, size: int, kind: str, seed: int
) -> None:
    """Also where the table is wide, rank-deficient, or full of equal records."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_normal((n, p)), 1)
    x = np.column_stack([x, x[:, 0], np.ones(n)])
    before = x.copy()
    made = Pica(size=size, sigma=2.0, components=kind).swapped(x, np.random.default_rng(seed))
    assert (x == before).all()
    assert made.values.shape == x.shape
    assert made.values.mean(axis=0) == pytest.approx(x.mean(axis=0), abs=1e-9)
    assert made.values[:, p] == pytest.approx(made.values[:, 0], abs=1e-8)
    again = Pica(size=size, sigma=2.0, components=kind).swapped(x, np.random.default_rng(seed))
    assert (made.values == again.values).all()


def test_one_cluster_of_principal_components_is_a_reordering_of_each() -> None:
    x = np.random.default_rng(0).standard_normal((80, 4)) @ np.diag([1.0, 2.0, 3.0, 4.0])
    made = Pica(smooth=0, clusters=1, components="pca").swapped(x, np.random.default_rng(0))
    _, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    after = (made.values - x.mean(axis=0)) @ vectors
    assert np.sort(after, axis=0) == pytest.approx(np.sort(principal_scores(x), axis=0), abs=1e-9)


def test_clusters_keep_their_means_and_covariances() -> None:
    rng = np.random.default_rng(0)
    one = rng.laplace(size=(800, 3)) @ rng.standard_normal((3, 3))
    two = rng.laplace(size=(800, 3)) @ rng.standard_normal((3, 3)) + 60
    made = Pica(clusters=2).swapped(np.concatenate([one, two]), np.random.default_rng(0))
    high = made.values.mean(axis=1) > 30
    assert high.sum() == 800
    for x, y in ((one, made.values[~high]), (two, made.values[high])):
        assert y.mean(axis=0) == pytest.approx(x.mean(axis=0), abs=1e-8)
        assert np.cov(y.T) == pytest.approx(np.cov(x.T), abs=0.12 * np.cov(x.T).max())


def test_a_curved_dependence_survives_in_clusters_only() -> None:
    rng = np.random.default_rng(0)
    u = rng.uniform(-2, 2, 1500)
    x = np.column_stack([u, u**2 + 0.1 * rng.standard_normal(1500), rng.standard_normal(1500)])
    apart = [
        np.abs(np.corrcoef(made.values[:, 0] ** 2, made.values[:, 1])[0, 1])
        for made in (
            Pica(size=75, sigma=0.5).swapped(x, np.random.default_rng(1)),
            Pica(clusters=1).swapped(x, np.random.default_rng(1)),
        )
    ]
    assert apart[0] > 0.9
    assert apart[1] < 0.4


def test_nobody_is_in_a_cluster_alone() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal((200, 4)), np.full((1, 4), 40.0), np.full((2, 4), -40)])
    made = Pica(clusters=4).release(x, np.random.default_rng(0), None)
    assert made.sizes.min() >= 10
    gaps = np.sqrt(((made.values[:, None] - x[-3:][None]) ** 2).sum(axis=2)).min(axis=0)
    assert (gaps > 0.5).all()


def test_places_in_the_table_do_not_tell_the_cluster() -> None:
    x = np.concatenate([np.zeros((100, 3)), np.full((100, 3), 50.0)])
    x += np.random.default_rng(0).standard_normal(x.shape)
    made = Pica(clusters=2).swapped(x, np.random.default_rng(0))
    assert 30 < (made.values[:100, 0] > 25).sum() < 70


def test_threads_never_alter_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((400, 5))
    made = []
    for threads in (1, 4):
        monkeypatch.setattr(module, "cores", lambda threads=threads: threads)
        made.append(Pica(size=40).swapped(x, np.random.default_rng(0)).values)
    assert (made[0] == made[1]).all()


def test_a_table_comes_back_with_its_columns_and_says_how() -> None:
    people = mixed(300)
    heard: list[str] = []
    with listening(lambda what, done, of: heard.append(what)):
        found = Pica(columns=NAMES, size=100).mask(people, np.random.default_rng(0))
    assert tuple(found.table.names) == NAMES
    assert found.table.height == 300
    assert not found.linked
    assert found.facts["clusters"] == 3
    assert found.facts["sigma"] > 0
    assert "swapping in clusters" in heard
    assert set(found.table["blood"]) <= {"0", "A", "B"}


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="give one of them"):
        Pica.build({"size": 10, "clusters": 3})
    with pytest.raises(ParameterError, match="size"):
        Pica.build({"size": 1})
    with pytest.raises(MethodError, match="weighs all pairs"):
        Pica(size=100, affinity="exact").swapped(np.zeros((30_000, 1)), np.random.default_rng(0))
    with pytest.raises(MethodError, match="non-participants or more"):
        Pica(columns=NAMES).mask(mixed(300), np.random.default_rng(0))


def test_an_automatic_size_is_the_first_that_passes_twice() -> None:
    found = Pica(columns=NAMES, sigma=2.0).mask_against(
        mixed(1500), np.random.default_rng(0), mixed(6000, seed=1)
    )
    tried = found.facts["sizes tried"]
    limits = pica_size.MARGINS
    last = [one for one in tried if one["size"] == found.facts["size"]]
    assert [one["against"] for one in last] == ["one half", "the other half"]
    assert all(one[name] <= limits[name] for one in last for name in limits)
    for one in tried[:-2]:
        both = sum(other["size"] == one["size"] for other in tried)
        failed = any(one[name] > limits[name] for name in limits)
        assert failed or both == 2
    assert found.table.height == 1500


def test_without_a_reference_others_of_the_table_stand_in() -> None:
    found = Pica(columns=NAMES, sigma=2.0).mask(mixed(3000), np.random.default_rng(0))
    assert found.table.height == 3000
    assert found.facts["non-participants"] == "records held out"
    assert found.facts["masked on trial"] == {"parts": 2, "records in each": 750}
    # A quarter of the table passed: the next size is taken for all of it.
    passed = found.facts["sizes tried"][-1]["size"]
    assert found.facts["size"] == pica_size.raised(passed, 3000, 750) > passed
    assert any("no reference sample" in warning for warning in found.warnings)
    assert not any("no fresh test" in warning for warning in found.warnings)


def test_it_says_that_the_reference_was_used_and_what_was_tested() -> None:
    for others, said in ((4000, 1), (2000, 2), (1600, 3)):
        found = Pica(columns=NAMES, sigma=2.0).mask_against(
            mixed(2000), np.random.default_rng(0), mixed(others, seed=1)
        )
        parts = ("no fresh test", "not tested on the release itself", "hold out as many")
        heard = [any(part in warning for warning in found.warnings) for part in parts]
        assert heard == [True] * said + [False] * (3 - said)
        m = found.facts["masked on trial"]["records in each"]
        assert m == others // 2


def test_where_no_size_passes_it_says_what_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pica_size, "LADDER", ())
    monkeypatch.setattr(pica_size, "MARGINS", {"distance": 0.0, "ambiguity": 0, "uncertainty": 0})
    with pytest.raises(MethodError, match="use svd-swap"):
        Pica(columns=NAMES).mask_against(mixed(300), np.random.default_rng(0), mixed(900, seed=1))


@given(st.integers(2, 10**6), st.integers(1, 10**6))
def test_parts_fit_in_the_table_and_in_the_half(n: int, half: int) -> None:
    count, m = pica_size.divided(n, half)
    assert 1 <= count <= 2
    assert count * m <= n
    assert m <= half
    assert m >= min(half, n) // 2
    rows = np.concatenate(pica_size.parts(min(n, 50), *pica_size.divided(min(n, 50), half), _rng()))
    assert np.unique(rows).size == rows.size


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def numbers(n: int, missing: float, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    x = pl.DataFrame(rng.standard_normal((n, 6)), schema=[*"abcdef"])
    gone = pl.DataFrame(rng.random((n, 6)) < missing, schema=[*"abcdef"])
    return table(x.select(pl.when(~gone[name]).then(x[name]).alias(name) for name in x.columns))


class Leaking(Pica):
    """Publishes some participants, whatever the size, and strangers in place of the others."""

    def release(self, x: np.ndarray, rng: np.random.Generator, size: int | None) -> module.Release:
        made = STRANGERS[0][rng.choice(len(STRANGERS[0]), len(x), replace=False)]
        copied = int(STRANGERS[1] * len(x))
        made[:copied] = x[:copied]
        return module.Release(made, np.array([len(x)]), (), 1, 0, 0)


STRANGERS: list[Any] = [None, 0.0]


@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("others", [8000, 2000])
def test_a_size_that_copies_participants_is_not_chosen(missing: float, others: int) -> None:
    """Neither with missing values nor where a half has a quarter of the records."""
    people = numbers(4000, missing, 0)
    STRANGERS[0] = Encoding.of(people, [*"abcdef"], log="never").encode(numbers(9000, missing, 2))
    reference = numbers(others, missing, 1)
    for share, chosen in ((0.15, False), (0.08, False), (0.0, True)):
        STRANGERS[1] = share
        method = Leaking(log="never")
        if chosen:
            found = method.mask_against(people, _rng(), reference)
            assert found.facts["sizes tried"][0]["size"] == 50
        else:
            with pytest.raises(MethodError, match=r"distance by 0\.(1|09|08)"):
                method.mask_against(people, _rng(), reference)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.5])
def test_bounds_see_the_share_that_is_copied(missing: float) -> None:
    people, others, strangers = (numbers(2000, missing, seed) for seed in range(3))
    code = Encoding.of(people, [*"abcdef"], log="never")
    x, made = code.encode(people), code.encode(strangers)
    made[:300] = x[:300]
    found = pica_size.published(made, code, Pica(size=2, bounded=False))
    half = pica_size.placed(code.encode(others), code)
    x *= code.column_units
    assert pica_size.bounds([(x, found)], half)[0] == pytest.approx(0.165, abs=0.015)
    assert np.abs(found.given[:300] - x[:300]).max() < 1e-9


@settings(max_examples=25)
@example(0.875, 75)
@given(st.floats(0.0, 0.9), st.integers(0, 99))
def test_others_are_placed_as_the_gate_places_them(missing: float, seed: int) -> None:
    """By the cells that are there, whatever is missing; strange categories stay strange."""
    people, others = (
        table(
            numbers(60, missing, one).frame.with_columns(
                pl.Series("blood", rhesus * 15),
                pl.Series("visits", (np.arange(60) * (one + 1)) % 13),
            )
        )
        for one, rhesus in ((seed, ["A", "B", "0", "A"]), (seed + 1, ["A", "B", "0", "AB"]))
    )
    code = Encoding.of(people, [*"abcdef", "blood", "visits"])
    complete = [block.column.name for block in code.blocks if not block.gaps]
    others = others.with_columns(
        [others[name].fill_null(strategy="mean") for name in complete[:-2]]
    )
    # Points by logarithms do not say how far below zero somebody was.
    others = others.with_columns([others[name].abs() for name in code.logged])
    x = code.encode(others)
    found = pica_size.placed(x, code)
    own = placements(code, others, "own")["own"]
    assert (found.given == x * code.column_units).all()
    assert found.own == pytest.approx(own * code.column_units, abs=1e-7)


def test_what_is_tried_is_what_would_be_published() -> None:
    """Whole numbers and settled categories: unrounded, a release seems further away than it is."""
    people = table({"visits": np.arange(300) % 7, "sex": ["f", "m", None] * 100})
    code = Encoding.of(people, ["visits", "sex"])
    rng = np.random.default_rng(0)
    values = code.encode(people) + 0.1 * rng.standard_normal((300, code.width))
    found = pica_size.published(values, code, Pica(size=2))
    decoded = code.decode(values, people, bounded=True)
    made = Table(pl.DataFrame(decoded.series), Schema(decoded.columns))
    assert (found.given == code.encode(made) * code.column_units).all()
    assert (found.own == code.encode(made, moments="own") * code.column_units).all()
    assert (found.given == code.encode(people) * code.column_units).mean() > 0.8


@pytest.mark.golden
def test_nhanes_is_protected_and_kept_as_in_the_thesis(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """Figure 5-2 and table 5.1: PICA100 protects less than a reference sample, PICA300 no less, and
    PICA200 lies between; all keep the fourth-degree kernel principal components, on 1,296 records
    of either as the thesis compares them."""
    folder = shared_data("nhanes")
    original = pl.read_csv(folder / "nhanes_2000x28.csv")
    everyone = pl.read_csv(folder / "nhanes_adults_28.csv").select(original.columns)
    others = everyone.join(original, on=original.columns, how="anti").sample(2000, seed=0)
    binary = [set(original[name]) <= {0, 1} for name in original.columns]

    def points(frame: pl.DataFrame) -> np.ndarray:
        x = frame.to_numpy().astype(float)
        return np.where(binary, 2 * x - 1, np.log(np.where(binary, 1.0, x)))

    a, reference = points(original), points(others)
    centre = np.where(binary, 0.0, a.mean(axis=0))
    spread = np.where(binary, 1.0, a.std(axis=0))
    x, standard = (
        (a - centre) / spread,
        predictions((a - centre) / spread, (reference - centre) / spread),
    )
    worst: dict[int, float] = {}
    for size in (100, 200, 300):
        made = Pica(size=size).swapped(x, np.random.default_rng(0)).values
        release = np.where(binary, np.where(made >= 0, 1.0, -1.0), made)
        found = predictions(x, release)
        worst[size] = shortfall(found.distance, standard.distance, paired=True).upper
        lost = lost_components(a, release * spread + centre, _rng(), points=1296)
        golden_record(
            f"PICA{size}: kernel components that differ, p < 0.05 (1 of 20 by chance)", 0, lost
        )
        # Six such draws of the reference sample, of other people, found 0 to 2 as well.
        assert lost <= 2
    golden_record("PICA100: prediction distance falls short by > 0.05", True, worst[100] > 0.05)
    golden_record("PICA300: prediction distance falls short by > 0.05", False, worst[300] > 0.05)
    assert worst[100] > 0.05 >= worst[300]
    # The thesis found no difference for PICA200; a bound of 0.05 is just met, or just not.
    assert worst[100] > worst[200] + 0.03
    assert worst[200] > worst[300] + 0.01
    assert worst[200] < 0.07
