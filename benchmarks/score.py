"""What a contender's output is worth: NCP by one measure for all, k counted again, rows lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import sfumato as sf

Trees = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Score:
    """Figures of one output file."""

    ncp: float
    """Over all original records: a record that was lost counts as wholly suppressed."""
    ncp_by_tree: float | None
    """The same by the leaves of the hierarchies, where the cells are their labels."""
    k: int
    lost: int


def score(
    masked: pl.DataFrame,
    original: pl.DataFrame,
    quasi: Sequence[str],
    raw: pl.DataFrame,
    trees: Trees,
) -> Score:
    """`masked` has one row per published record, in Sfumato's labels; `raw` the tool's cells."""
    lost = original.height - masked.height
    ncp = _ncp(original, masked, quasi, {})
    by_tree = _ncp(original, raw, quasi, trees) if trees else None
    return Score(ncp, by_tree, smallest_class(masked, quasi), lost)


def smallest_class(frame: pl.DataFrame, quasi: Sequence[str]) -> int:
    """k as counted on the file: the fewest records that share all their cells."""
    if not frame.height:
        return 0
    found = frame.group_by(list(quasi)).len()["len"].min()
    assert isinstance(found, int)
    return found


def read_output(path: Path) -> pl.DataFrame:
    """Every cell as text: a reader that guesses types would change them."""
    return pl.read_csv(path, separator=";", infer_schema=False)


def _ncp(original: pl.DataFrame, masked: pl.DataFrame, quasi: Sequence[str], trees: Trees) -> float:
    if not masked.height:
        return 1.0
    hierarchy = sf.registry.find("hierarchy", "poset").load()
    posets = {name: hierarchy(levels=rows) for name, rows in trees.items()}
    before = sf.table(original.select(quasi), quasi=list(quasi), posets=posets)
    # Tools change the order of the records, and NCP needs none; it counts a lost record as 1.
    return float(sf.measure("ncp", before, masked.select(quasi), align="none"))
