"""Uniques that reappear, and DiSCO, between random halves of national2019: a fresh sample's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.classes.disco import DiSCO
from sfumato.attacks.classes.repu import RepU
from sfumato.attacks.field import Field
from sfumato.data.pair import Pair
from sfumato.protocols import Context
from sfumato.rng import stream

TEN = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE"]
TEN += ["DVET", "DEYE"]
ALWAYS = ("RAC1P", "SEX")
COMBINATIONS = 168
HALVES = 3


def halves(home: Path, seed: int) -> list[sf.Table]:
    """Ages are numbers, all else categories, "not applicable" among them."""
    read = pl.read_csv(home / "national2019.csv", infer_schema=False).select(TEN)
    frame = read.with_columns(pl.col("AGEP").cast(pl.Float64))
    order, half = np.random.default_rng(seed).permutation(frame.height), frame.height // 2
    return [sf.table(frame[order[i * half : (i + 1) * half]], quasi=TEN) for i in (0, 1)]


def tried_on(
    own: sf.Table, released: sf.Table, others: sf.Table, seed: int
) -> tuple[Field, Context]:
    context = Context(
        Pair(own, released, None),
        stream(seed, 0, "attack"),
        reference=others,
        stream=lambda name: stream(seed, 0, name),
    )
    return Field.of(context, 0), context


def matched_uniques(own: sf.Table, released: sf.Table, seed: int) -> float:
    """The share of uniques that appear in the release, however often."""
    distinct = sf.table(released.frame.unique(maintain_order=True), quasi=TEN)
    trial = RepU().trials(*tried_on(own, distinct, released, seed))[0]
    assert trial.what == "unique keys"
    return float(trial.inside.mean() / trial.detail["unique"])


def disco(own: sf.Table, released: sf.Table, seed: int) -> list[float]:
    """By two keys and each pair of the others, ages in bins, for each target."""
    field, context = tried_on(own, released, released, seed)
    found = []
    for pair in combinations([name for name in TEN if name not in ALWAYS], 2):
        keys = (*ALWAYS, *pair)
        targets = tuple(name for name in TEN if name not in keys)
        trials = DiSCO(keys=keys, targets=targets).trials(field, context)
        kept = [one for one in trials if "AGEP" not in keys or one.what.endswith("keys in bins")]
        found += [float(one.inside.mean()) for one in kept]
    return found


@pytest.mark.golden
def test_one_half_matches_the_other_as_reported(
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    uniques, disclosed = [], []
    for seed in range(HALVES):
        own, released = halves(shared_data("acs_excerpts"), seed)
        uniques.append(matched_uniques(own, released, seed))
        each = disco(own, released, seed)
        assert len(each) == COMBINATIONS
        disclosed.append(float(np.mean(each)))
    matches, mean = float(np.mean(uniques)), float(np.mean(disclosed))
    golden_record("unique matches between halves", 0.137, round(matches, 4))
    golden_record("DiSCO between halves", 0.19, round(mean, 4))
    # What halves vary by, and the rounding of what is reported.
    assert matches == pytest.approx(0.137, abs=0.004)
    assert mean == pytest.approx(0.19, abs=0.01)
