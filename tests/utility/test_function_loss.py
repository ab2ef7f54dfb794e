"""What any function of the data loses under any divergence (`function-loss`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import MeasureError, ParameterError
from tests.oracle.crest import divergence as jensen_shannon

ORIGINAL = {"pay": [1.0, 2.0, 3.0, 6.0], "job": ["a", "a", "b", "c"]}
MASKED = {"pay": [2.0, 2.0, 4.0, 4.0], "job": ["a", "b", "b", "c"]}


def spread(frame: pl.DataFrame) -> float:
    return float(frame["pay"].max() - frame["pay"].min())  # type: ignore[operator]


def test_a_function_and_its_divergences() -> None:
    assert sf.measure(spread, ORIGINAL, MASKED).value == 3.0
    assert sf.measure(spread, ORIGINAL, MASKED, divergence="square").value == 9.0
    assert sf.measure(spread, ORIGINAL, MASKED, divergence="variation").value == 3 / 5
    lost = sf.measure(spread, ORIGINAL, MASKED, divergence="decrease")
    assert (lost.value, lost.detail["reverse"]) == (3.0, 0.0)
    alarms = sf.measure(spread, ORIGINAL, MASKED, divergence="increase")
    assert (alarms.value, alarms.detail["reverse"]) == (0.0, 3.0)
    assert alarms.detail["function"] == "spread"


def test_arrays_frames_and_dictionaries() -> None:
    def median(frame: pl.DataFrame) -> dict[str, float]:
        pairs = frame.group_by("job").agg(pl.col("pay").median()).iter_rows()
        return dict(pairs)

    # a: 1.5, 2; b: 3, 3; c: 6, 4
    assert sf.measure(median, ORIGINAL, MASKED).value == pytest.approx((0.5 + 0 + 2) / 3)
    gone = {name: values[:3] for name, values in MASKED.items()}
    # c counts 0 where there is none.
    found = sf.measure(median, ORIGINAL, gone, align="none").value
    assert found == pytest.approx((0.5 + 0 + 6) / 3)
    assert sf.measure(lambda f: f["pay"].to_numpy(), ORIGINAL, MASKED).value == 1.0
    assert sf.measure(lambda f: f.select("pay"), ORIGINAL, MASKED).value == 1.0
    assert sf.measure(lambda f: f.select("pay").to_pandas(), ORIGINAL, MASKED).value == 1.0


def test_distributions() -> None:
    words: dict[str, Any] = {"function": "frequencies", "divergence": "jensen-shannon"}
    found = sf.measure("function-loss", ORIGINAL, MASKED, **words).value
    shares = {"a": 1 / 4, "b": 2 / 4, "c": 1 / 4}
    assert found == pytest.approx(jensen_shannon({"a": 2, "b": 1, "c": 1}, shares))
    words["divergence"] = "kullback-leibler"
    bits = sf.measure("function-loss", ORIGINAL, MASKED, **words)
    assert bits.value == pytest.approx(0.5 * np.log2(2) + 0.25 * np.log2(0.5))
    assert bits.detail["reverse"] == pytest.approx(0.25 * np.log2(0.5) + 0.5 * np.log2(2))
    nobody = {**MASKED, "job": ["a", "a", "b", "b"]}
    with pytest.raises(MeasureError, match="infinite"):
        sf.measure("function-loss", ORIGINAL, nobody, **words)


def test_correlations_are_those_of_matrix_divergence() -> None:
    draw = np.random.default_rng(0)
    x, y = (pl.DataFrame(draw.normal(size=(50, 3)), schema=["a", "b", "c"]) for _ in range(2))
    expected = sf.measure("matrix-divergence", x, y, matrix="R", error="absolute").value
    assert sf.measure("function-loss", x, y).value == pytest.approx(expected)


def test_any_divergence_of_any_result() -> None:
    def order(frame: pl.DataFrame) -> list[str]:
        return [str(job) for job in frame["job"]]

    def changed(a: list[str], b: list[str]) -> float:
        return sum(one != other for one, other in zip(a, b, strict=True)) / len(a)

    assert sf.measure(order, ORIGINAL, MASKED, divergence=changed).value == 0.25
    with pytest.raises(MeasureError, match="no numbers"):
        sf.measure(order, ORIGINAL, MASKED)
    with pytest.raises(MeasureError, match="from itself is not 0"):
        sf.measure(spread, ORIGINAL, MASKED, divergence=lambda a, b: 1.0)
    with pytest.raises(MeasureError, match="none is below 0"):
        sf.measure(spread, ORIGINAL, MASKED, divergence=lambda a, b: b - a)
    with pytest.raises(MeasureError, match="which is no number"):
        sf.measure(spread, ORIGINAL, MASKED, divergence=lambda a, b: "much")
    with pytest.raises(MeasureError, match='of the original table: "pay" not found'):
        sf.measure(lambda f: f["pay"].max(), ORIGINAL, {"job": MASKED["job"]}, align="none")
    with pytest.raises(ParameterError, match="one of correlations, frequencies"):
        sf.method("function-loss", function="nothing")


def test_what_nobody_vouches_for_is_not_published(tmp_path: Any) -> None:
    draw = np.random.default_rng(1)
    people = sf.table(
        {"age": draw.normal(size=400), "pay": draw.normal(size=400)}, quasi=["age"],
        confidential=["pay"],
    )  # fmt: skip
    own = sf.method("function-loss", function=lambda f: f["age"].max())
    release = sf.protect(people, sf.method("mdav", k=5), seed=1, measures=[own])
    assert release.evidence["function-loss"].value > 0
    public = release.public().evidence
    assert "function-loss" not in public
    assert "stays the owner's" in public.not_taken["function-loss"]
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    exact = repr(release.evidence["function-loss"].value)
    assert exact not in (folder / "evidence.json").read_text()
    named = sf.method("function-loss", function="correlations")
    told = sf.protect(people, sf.method("mdav", k=5), seed=1, measures=[named]).public().evidence
    assert told["function-loss"].value != release.measure("function-loss").value
    assert told["function-loss"].value == pytest.approx(
        release.measure("function-loss").value, abs=0.05
    )


def test_a_measure_as_it_is() -> None:
    built = sf.method("function-loss", function=spread)
    assert sf.measure(built, ORIGINAL, MASKED).value == 3.0
    with pytest.raises(ParameterError, match="has its parameters already"):
        sf.measure(built, ORIGINAL, MASKED, divergence="square")
