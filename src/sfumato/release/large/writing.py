"""The published records on disk: parts in their order, or one file made of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ...data.io.writing import csv_bytes
from ...engines.relation import Relation
from ...engines.renumbered import WHOSE
from ...progress import report
from ..plan.plan import Output
from ..records.randomness import Bits
from .printing import as_stored

DATA, ALIGNMENT = "data", "alignment"
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def written(
    masked: Relation,
    output: Output,
    order: Bits | None,
    folder: Path,
    aside: Path,
    people: Relation | None = None,
    person: str = "",
) -> Path:
    """The records in their published order, by number where there is none; which original each was
    lies in `aside`, and whose it is, where `people` tells, as the column `person`.

    What is published is the folder of parts, or the file, that is returned.
    """
    parts, alignment = folder / DATA, aside / ALIGNMENT
    for made in (parts, alignment):
        made.mkdir()
    report("writing", 0, 1)
    stored, beside = as_stored(masked, output), {}
    if people is not None:
        stored, beside = stored.join(people, [WHOSE]), {WHOSE: person}
    files = stored.write(parts, order, alignment, beside)
    if output.format == "parts":
        return parts
    one = folder / f"data.{output.format}"
    if output.format == "parquet":
        _as_parquet(files, one)
    else:
        _as_text(files, one, _DELIMITERS[output.format])
    for path in files:
        path.unlink()
    parts.rmdir()
    return one


def _as_parquet(files: list[Path], target: Path) -> None:
    """One file of the same records, a part at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(target, pq.read_schema(files[0]), compression="zstd") as sink:
        for done, path in enumerate(files):
            report("one file", done, len(files))
            source = pq.ParquetFile(path)
            for batch in source.iter_batches():
                sink.write_batch(batch)


def _as_text(files: list[Path], target: Path, delimiter: str) -> None:
    head = len(csv_bytes(pl.read_parquet(files[0], n_rows=0), delimiter))
    with target.open("wb") as sink:
        for done, path in enumerate(files):
            report("one file", done, len(files))
            body = csv_bytes(pl.read_parquet(path), delimiter)
            sink.write(body[head if done else 0 :])
