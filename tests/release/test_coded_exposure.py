"""Whom top-coding leaves alone at the top is found there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import ReleaseRefused

pytestmark = pytest.mark.exposure


def towns(oldest: int) -> sf.Table:
    """40 towns with five people of 30, five of 40 and one old one each."""
    rows = [
        (f"town {t}", age) for t in range(40) for age in (*[30] * 5, *[40] * 5, oldest + t % 10)
    ]
    place, ages = zip(*rows, strict=True)
    return sf.table({"town": list(place), "age": list(ages)}, quasi=["town", "age"])


@pytest.mark.parametrize("oldest", [90, 98])
def test_exposure_looks_for_the_old_where_ages_end(oldest: int) -> None:
    top = sf.method("top-bottom-coding", columns=["age"], top=90)
    with pytest.raises(ReleaseRefused, match="exposure"):
        sf.protect(towns(oldest), top, seed=0, require={"exposure": 0.05})


def test_no_public_figure_is_beyond_a_limit_that_is_kept(tmp_path: Path) -> None:
    top = sf.method("top-bottom-coding", columns=["age"], top=90)
    made = sf.protect(towns(98), top, seed=0, require={"exposure": 0.095})
    evidence = json.loads(
        (made.save(tmp_path / "out", allow_guessable_seed=True) / "evidence.json").read_text(
            "utf-8"
        )
    )
    assert evidence["measures"]["exposure"]["value"] <= 0.095
    assert "because" not in evidence["measures"]["exposure"].get("detail", {})
