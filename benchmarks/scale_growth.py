"""`scale_out.py growth` and `estimate`: how cost grows with records and pieces, as a figure, and
what more machines would take, by arithmetic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import scale_out
import vl_convert

PIECES = (1, 2, 8)
MACHINES, CORES = 16, 2


def growth(
    folder: Path,
    sizes: Sequence[int],
    names: Iterable[str],
    engines: Iterable[str],
    memory: str,
    earlier: Sequence[Path] | None,
) -> None:
    """CPU seconds by plan, engine, records and pieces: measured now, or read from earlier rows. Of
    more than 10 million records no engine but duckdb is measured, and in one division."""
    if earlier is None:
        kept = folder / "growth.jsonl"
        for row in _measured(folder, sizes, names, engines, memory):
            scale_out.show(**row)
            with kept.open("a") as file:
                file.write(json.dumps(row) + "\n")
        earlier = [kept]
    target = folder / "growth.png"
    chart = figure(rows_of(earlier))
    target.write_bytes(vl_convert.vegalite_to_png(chart.to_json(), scale=1.5))
    scale_out.show(figure=str(target))


def _measured(
    folder: Path, sizes: Sequence[int], names: Iterable[str], engines: Iterable[str], memory: str
) -> Iterable[dict[str, Any]]:
    target = folder / "growth"
    for name in names:
        for records in sizes:
            few = records <= 10**7
            for engine in engines if few else ["duckdb"]:
                for parts in PIECES if few else [-(-records // scale_out.PIECE)]:
                    source = scale_out.source_of(name, folder, records, -(-records // parts))
                    scale_out.remove(target)
                    more = {} if engine == "local" else {"memory": memory}
                    more |= {"master": "local[2]"} if engine == "spark" else {}
                    text = scale_out.plan(source, target, name, engine, **more)
                    ran = scale_out.run(text, folder)
                    scale_out.remove(target)
                    yield {
                        "plan": name, "engine": engine, "records": records, "pieces": parts, **ran
                    }  # fmt: skip


def rows_of(paths: Iterable[Path]) -> pl.DataFrame:
    """The rows of plans that ran, of files that this or `large` and `ratio` have printed; of equal
    ones the last. CPU seconds of the driver are those of its Python process."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            row = json.loads(line) if line.startswith("{") else {}
            if row.get("status") != 0 or not {"plan", "engine", "records", "cpu_s"} <= row.keys():
                continue
            pieces = row.get("pieces", -(-row["records"] // scale_out.PIECE))
            key = {"plan": row["plan"], "engine": row["engine"], "records": row["records"]}
            driver = float(sum(row.get("stages", {}).values()))
            more = {"pieces": pieces, "cpu_s": float(row["cpu_s"]), "driver_s": driver}
            found[(*key.values(), pieces)] = {**key, **more}
    if not found:
        raise SystemExit("no rows of plans that ran in " + ", ".join(map(str, paths)))
    return pl.DataFrame(list(found.values())).sort("plan", "engine", "records", "pieces")


def figure(rows: pl.DataFrame) -> alt.HConcatChart:
    """Above CPU seconds against records, the mean over divisions; below against pieces, by
    records. A plan is a column, and an engine keeps its colour."""
    colour = alt.Color("engine:N", title=None, scale=alt.Scale(scheme="dark2"))
    seconds = alt.Y("cpu_s:Q", title="CPU seconds", scale=alt.Scale(type="log"))
    columns = []
    for (name,), part in rows.group_by("plan", maintain_order=True):
        total = part.group_by("engine", "records", maintain_order=True).agg(pl.col("cpu_s").mean())
        panels = [
            _lines(total).encode(
                alt.X("records:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s")),
                seconds,
                colour,
            )
        ]
        divided = part.filter(pl.len().over("engine", "records") > 1)
        if divided.height:
            sizes = [f"{records:,}" for records in divided["records"]]
            shown = divided.with_columns(pl.Series("size", sizes))
            panels.append(
                _lines(shown).encode(
                    alt.X("pieces:O"), seconds, colour, alt.StrokeDash("size:N", title="records")
                )
            )
        size = {"width": 220, "height": 200}
        titled = [panel.properties(**size) for panel in panels]
        columns.append(alt.vconcat(*titled).properties(title=str(name)))
    return alt.hconcat(*columns)


def _lines(frame: pl.DataFrame) -> alt.Chart:
    drawn = alt.Chart(alt.Data(values=frame.to_dicts()))
    return drawn.mark_line(point=alt.OverlayMarkDef(size=30))


def estimate(paths: Sequence[Path], records: int) -> None:
    """What many machines would take, from Spark's rows of two sizes on this one; an estimate."""
    rows = rows_of(paths).filter(pl.col("engine") == "spark")
    totals = rows.group_by("plan", "records").agg(pl.col("cpu_s", "driver_s").mean())
    cores = MACHINES * CORES
    print(
        f"An estimate by arithmetic, not a measurement: {MACHINES} machines of {CORES} cores, "
        f"{records:,} records.\n"
        "  seconds = w n / cores + d + e n\n"
        "  w: CPU seconds of workers and Java for each record more; d + e n: CPU seconds of the\n"
        "  driver's Python, one after the other; all by the line through two measured sizes.\n"
        "  It leaves out the network, the start of a cluster, and that tasks are not all as long."
    )
    for (name,), part in totals.sort("plan").group_by("plan", maintain_order=True):
        sized = part.sort("records").rows(named=True)
        if len(sized) < 2:
            print(f"{name}: one size only ({sized[0]['records']:,} records), no estimate")
            continue
        one, two = sized[0], sized[-1]
        more = two["records"] - one["records"]
        work = [row["cpu_s"] - row["driver_s"] for row in (one, two)]
        w, e = (work[1] - work[0]) / more, (two["driver_s"] - one["driver_s"]) / more
        d = one["driver_s"] - e * one["records"]
        seconds = w * records / cores + d + e * records
        n = f"{records / 1e6:,.0f} million"
        print(
            f"{name}: {seconds:,.0f} s = {w * 1e6:.2f} s per million x {n} / {cores} "
            f"+ {d:.1f} s + {e * 1e6:.2f} s per million x {n} "
            f"(measured at {one['records']:,} and {two['records']:,})"
        )
