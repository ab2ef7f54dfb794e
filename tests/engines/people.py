"""People who do not exist, in a folder of pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

RECORDS = 1_200


def people(seed: int = 0, records: int = RECORDS) -> pl.DataFrame:
    """Numbers with and without decimals, categories, gaps, and an identifier."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, records)
    gaps = rng.random(records) < 0.03
    return pl.DataFrame(
        {
            "id": [f"p{i:06d}" for i in rng.permutation(records)],
            "age": age,
            "zip": (rng.integers(0, 30, records) * 37 + 1000).astype(str),
            "sex": rng.choice(["f", "m"], records),
            "degree": rng.choice(["none", "school", "college"], records),
            "pay": pl.Series((age * 50 + rng.normal(2000, 400, records)).round(2)).set(
                pl.Series(gaps), None
            ),
            "visits": rng.poisson(3, records),
            "region": rng.integers(0, 5, records),
        }
    )


def in_pieces(frame: pl.DataFrame, folder: Path, pieces: int) -> Path:
    """The records as so many Parquet files, of which some are smaller."""
    folder.mkdir(parents=True)
    cuts = np.sort(np.random.default_rng(pieces).integers(0, frame.height, pieces - 1))
    ends = [0, *cuts.tolist(), frame.height]
    for i in range(pieces):
        part = frame.slice(ends[i], ends[i + 1] - ends[i])
        part.write_parquet(folder / f"piece-{i:03d}.parquet", row_group_size=97)
    return folder
