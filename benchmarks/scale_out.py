"""The same plan in memory, out of core and on Spark: equal releases, and what they cost.

    python benchmarks/scale_out.py same   [--records 200000] [--engines local duckdb spark]
    python benchmarks/scale_out.py killed [--records 200000] [--plans mondrian noise ...]
    python benchmarks/scale_out.py growth [--records 1000000 10000000] [--from rows.jsonl ...]
    python benchmarks/scale_out.py estimate --from rows.jsonl ... [--records 1000000000]
    python benchmarks/scale_out.py large  [--records 100000000] [--plans mondrian full-domain ...]
    python benchmarks/scale_out.py ratio  [--records 10000000] [--engines local duckdb spark]
    python benchmarks/scale_out.py sets   [--records 20616891]
    python benchmarks/scale_out.py wide   [--records 5000000] [--columns 800]

The records are generated in pieces (`generate.py`: eight quasi-identifiers, small integers). Every
release is made in a process of its own. CPU seconds are those of all its processes, Spark's
included; memory is the largest resident set that they had together. Both are looked at twice a
second. The stages are those that progress tells: exposure, ledger, measures and figures among them.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import generate
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

PIECE = 2_000_000
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_BINS = {
    name: [list(range(0, high + 1, width)) for width in widths]
    for name, (_, high, widths) in generate.NUMBERS.items()
}
_HELD = {"age": "age", "native-country": "geography"}
PLANS = {
    "mondrian": ('[[steps]]\nuse = "mondrian"\nk = 5\n', "k-anonymity = 5"),
    "full-domain": ('[[steps]]\nuse = "full-domain"\nk = 5\nsuppress = 0.02\n', "k-anonymity = 5"),
    "noise": ('[[steps]]\nuse = "uncorrelated-noise"\namount = 0.2\n', ""),
    "correlated-noise": ('[[steps]]\nuse = "correlated-noise"\namount = 0.2\n', ""),
    "recoding": ('[[steps]]\nuse = "global-recoding"\nlevels = { age = 2 }\n', ""),
    "sampling": ('[[steps]]\nuse = "sampling"\nshare = 0.1\n', ""),
    "pram": ('[[steps]]\nuse = "pram"\ncolumns = ["workclass", "occupation"]\n', ""),
    "top-bottom": (
        '[[steps]]\nuse = "top-bottom-coding"\ntop_share = 0.05\ncolumns = ["age"]\n',
        "",
    ),
    "rounding": ('[[steps]]\nuse = "rounding"\nbase = 5\ncolumns = ["hours-per-week"]\n', ""),
    "local-suppression": (
        '[[steps]]\nuse = "local-suppression"\nk = 3\nblocks = 5000\n',
        "k-anonymity = 3",
    ),
    "mdav": ('[[steps]]\nuse = "mdav"\nk = 5\nblocks = 5000\n', ""),
    "local-recoding": (
        '[[steps]]\nuse = "local-recoding"\nk = 5\nblocks = 5000\nsteps = 20000\n',
        "k-anonymity = 5",
    ),
    "block-rank-swap": (
        '[[steps]]\nuse = "block-rank-swap"\np = 5\ncolumns = ["age", "hours-per-week"]\n',
        "",
    ),
    "drop": ('[[steps]]\nuse = "drop"\n', ""),
    "hash": ('[[steps]]\nuse = "hash"\n', ""),
    "pseudonymize": ('[[steps]]\nuse = "pseudonymize"\n', ""),
    "safe-harbor": (
        '[[steps]]\nuse = "safe-harbor"\n[steps.columns_are]\nid = "medical-record"\n'
        + "".join(f'"{n}" = "{_HELD.get(n, "none")}"\n' for n in generate.COLUMNS),
        "",
    ),
    "set-mondrian": ('[[steps]]\nuse = "set-mondrian"\nk = 10\n', "k-anonymity = 10"),
    "two-phase": ('[[steps]]\nuse = "two-phase"\nk = 10\nblocks = 5000\n', "k-anonymity = 10"),
}
MAIN = ("mondrian", "full-domain", "noise", "recoding")
"""Those whose cost is looked at."""
_OF_NAMED = ("drop", "hash", "pseudonymize", "safe-harbor")
_OF_SETS = ("set-mondrian", "two-phase")


def pieces(folder: Path, records: int, piece: int = PIECE) -> Path:
    """A folder of generated records in Parquet, made if it is not there."""
    target = folder / f"adult-{records}-{piece}"
    if (target / "_SUCCESS").exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    waiting, number = [], 0
    for batch in itertools.chain(generate.batches(records, "integers"), [None]):
        if batch is not None:
            waiting.append(batch)
        while waiting and (batch is None or sum(map(len, waiting)) >= piece):
            made = pa.Table.from_batches(waiting)
            cast = made[:piece].cast(pa.schema([(name, pa.int8()) for name in generate.COLUMNS]))
            pq.write_table(cast, target / f"piece-{number:05d}.parquet")
            waiting, number = made[piece:].to_batches(), number + 1
    (target / "_SUCCESS").touch()
    return target


def source_of(name: str, folder: Path, records: int, piece: int = PIECE) -> Path:
    """The records that a plan is for, in pieces: those of `pieces`, the same with an identifier, or
    sets."""
    plain = name not in _OF_NAMED and name not in _OF_SETS
    target = folder / f"{'sets' if name in _OF_SETS else 'named'}-{records}-{piece}"
    if plain or (target / "_SUCCESS").exists():
        return pieces(folder, records, piece) if plain else target
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if name in _OF_SETS:
        from sfumato.data.generators import write_targeting

        whole = folder / f"sets-{records}.parquet"
        write_targeting(whole, records, 300, 8.0, seed=0, replace=True)
        made = pq.read_table(whole)
    else:
        made = pq.read_table(pieces(folder, records, piece))
        numbers = np.random.default_rng(0).permutation(records)
        made = made.append_column("id", pa.array(f"p{n:010d}" for n in numbers.tolist()))
    for number, start in enumerate(range(0, records, piece)):
        pq.write_table(made[start : start + piece], target / f"piece-{number:05d}.parquet")
    (target / "_SUCCESS").touch()
    return target


def plan(source: Path, output: Path, name: str, engine: str, **more: object) -> str:
    """A plan file; of the requirements only what the plan is about, since exposure is a stage."""
    steps, required = PLANS[name]
    kinds = {"pram": ("workclass", "occupation")}.get(name, ())
    binned = _BINS if name in ("full-domain", "recoding") else ()
    columns = "\n".join(
        f'"{one}" = {{ role = "quasi"'
        + (', kind = "nominal"' if one in kinds else "")
        + (f', poset = {{ kind = "bins", edges = {_BINS[one]} }}' if one in binned else "")
        + " }"
        for one in generate.COLUMNS
    )
    if name in _OF_NAMED:
        columns += '\nid = "identifier"'
    if name in _OF_SETS:
        columns = 'items = { role = "quasi", kind = "set" }'
    others = 'others = "drop"\n' if name in _OF_SETS else ""
    words = "\n".join(f"{key} = {json.dumps(value)}" for key, value in more.items())
    return (
        f'[input]\npath = "{source}"\n{others}[columns]\n{columns}\n{steps}'
        f"[require]\n{required or 'exposure = false'}\n"
        f'[engine]\nuse = "{engine}"\n{words}\n'
        f'[output]\npath = "{output}"\nformat = "parts"\nledger = "{output}.ledger"\n'
    )


WITHIN = ("reading", "counting", "routing", "masking", "masking parts", "masking groups")
"""What engines tell of any stage."""


def work(paths: Iterable[Path], seed: int) -> dict[str, Any]:
    """Plans run in this process: CPU seconds by stage, and the largest resident memory that it had
    by the end of each."""
    import resource

    import sfumato as sf

    spent: dict[str, float] = {}
    peaks: dict[str, float] = {}
    last = ["opening", time.process_time()]

    def tell(what: str, done: int, of: int) -> None:
        now = time.process_time()
        spent[last[0]] = spent.get(last[0], 0.0) + now - last[1]
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        peaks[last[0]] = round(held, 2)
        last[:] = [last[0] if what in WITHIN else what, now]

    for path in paths:
        chosen = sf.Plan.read(path)
        # These people do not exist.
        said = chosen.output.model_copy(update={"allow_guessable_seed": True})
        chosen = chosen.with_(output=said)
        made = sf.protect(chosen.input.path, chosen, seed, progress=tell)
        if chosen.engine.in_memory:
            tell("saving", 0, 1)
            made.save(chosen.output.path)
        tell("end", 1, 1)
    rounded = {what: round(seconds, 1) for what, seconds in spent.items() if seconds > 0.05}
    return {"stages": rounded, "peaks": {what: peaks[what] for what in rounded}}


def run(text: str | Sequence[str], folder: Path, seed: int = 0) -> dict[str, Any]:
    """A plan, or several, run in a process of its own, with what it cost."""
    command = [sys.executable, __file__, "--seed", str(seed), "work"]
    for index, one in enumerate([text] if isinstance(text, str) else text):
        path = folder / f"plan-{index}.toml"
        path.write_text(one)
        command.append(str(path))
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    cpu: dict[int, float] = {}
    peak = 0
    while process.poll() is None:
        resident = 0
        for pid, seconds, pages in _family(process.pid):
            cpu[pid] = seconds
            resident += pages * _PAGE
        peak = max(peak, resident)
        time.sleep(0.5)
    said, complained = process.communicate()
    found = {
        "wall_s": round(time.perf_counter() - began, 1),
        "cpu_s": round(sum(cpu.values()), 1),
        "peak_gib": round(peak / 2**30, 2),
        "status": process.returncode,
    }
    if process.returncode == 0:
        found |= json.loads(said.splitlines()[-1])
    else:
        print(complained[-2000:], file=sys.stderr)
    return found


def _family(session: int) -> Iterator[tuple[int, float, int]]:
    """All processes of a session: number, CPU seconds, resident pages."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            rest = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[3]) == session:
            yield int(entry.name), (int(rest[11]) + int(rest[12])) / _TICKS, int(rest[21])


def digest(release: Path) -> str:
    """Of the published records, whatever their order."""
    found = hashlib.sha256()
    frame = pl.read_parquet(release / "data" / "part-*.parquet")
    items = pl.col(pl.List(pl.UInt16)).cast(pl.List(pl.String)).list.sort().list.join(" ")
    text = frame.with_columns(items).select(pl.all().cast(pl.String))
    text = text.sort(pl.all(), nulls_last=True)
    found.update(text.write_csv().encode())
    return found.hexdigest()[:16]


def same(folder: Path, records: int, names: Iterable[str], engines: Iterable[str]) -> None:
    """One digest for each plan, engine and number of pieces; an engine's three share a process."""
    for name in names:
        seen = set()
        for engine in engines:
            more = {"master": "local[2]"} if engine == "spark" else {}
            targets = {parts: folder / f"release-{parts}" for parts in (1, 2, 8)}
            texts = []
            for parts, target in targets.items():
                remove(target)
                source = source_of(name, folder, records, -(-records // parts))
                texts.append(plan(source, target, name, engine, **more) + "[measures]\n")
            ran = run(texts, folder)
            for parts, target in targets.items():
                value = digest(target) if target.exists() else "failed"
                seen.add(value)
                show(plan=name, engine=engine, pieces=parts, digest=value)
                remove(target)
            show(plan=name, engine=engine, **ran)
        show(plan=name, equal=len(seen) == 1 and "failed" not in seen)


def large(
    folder: Path, records: int, names: Iterable[str], engines: Iterable[str], memory: str
) -> None:
    """CPU and memory of plans on many records."""
    target = folder / "release"
    for name in names:
        source = source_of(name, folder, records)
        for engine in engines:
            remove(target)
            more: dict[str, str] = {} if engine == "local" else {"memory": memory}
            if engine == "spark":
                more["master"] = "local[2]"
            ran = run(plan(source, target, name, engine, **more), folder)
            show(plan=name, engine=engine, records=records, **ran)
    remove(target)


def wide(folder: Path, records: int, columns: int, memory: str) -> None:
    """Ten quasi-identifiers of many two-byte columns; the others are copied."""
    source = folder / f"wide-{records}-{columns}"
    piece = 250_000
    if not (source / "_SUCCESS").exists():
        source.mkdir(parents=True, exist_ok=True)
        for number, start in enumerate(range(0, records, piece)):
            n = min(piece, records - start)
            rng = np.random.default_rng([20, number])
            made = {
                f"c{j:03d}": rng.integers(0, 30 if j < 10 else 1000, n).astype(np.int16)
                for j in range(columns)
            }
            pq.write_table(pa.table(made), source / f"piece-{number:05d}.parquet")
        (source / "_SUCCESS").touch()
    target = folder / "release"
    remove(target)
    listed = "\n".join(f'c{j:03d} = {{ role = "quasi" }}' for j in range(10))
    text = (
        f'[input]\npath = "{source}"\nothers = "insensitive"\n[columns]\n{listed}\n'
        '[[steps]]\nuse = "mondrian"\nk = 5\n[require]\nk-anonymity = 5\nexposure = false\n'
        f'[engine]\nuse = "duckdb"\nmemory = "{memory}"\n'
        f'[output]\npath = "{target}"\nformat = "parts"\n'
    )
    show(plan=f"mondrian, {columns} columns", records=records, **run(text, folder))
    remove(target)


def sets(folder: Path, records: int, engines: Iterable[str], memory: str) -> None:
    """Set-mondrian on generated sets (1,987 items, 40 to a set)."""
    from sfumato.data.generators import write_targeting

    source = folder / f"targeting-{records}.parquet"
    if not source.exists():
        write_targeting(source, records, 1987, 40.0, seed=0)
    target = folder / "release"
    for engine in (one for one in engines if one != "spark"):
        remove(target)
        more = f'memory = "{memory}"\n' if engine == "duckdb" else ""
        text = (
            f'[input]\npath = "{source}"\nothers = "drop"\n[columns]\n'
            'items = { role = "quasi", kind = "set" }\n'
            '[[steps]]\nuse = "set-mondrian"\nk = 10\n'
            "[require]\nk-anonymity = 10\nexposure = false\n"
            f'[engine]\nuse = "{engine}"\n{more}'
            f'[output]\npath = "{target}"\nformat = "parts"\n'
        )
        show(plan="set-mondrian", engine=engine, records=records, **run(text, folder))
    remove(target)


def remove(target: Path) -> None:
    """A release and its private half, and the ledger beside it."""
    for one in (target, target.with_name(target.name + ".private")):
        shutil.rmtree(one, ignore_errors=True)
    for ledger in ("sfumato.ledger", f"{target.name}.ledger"):
        target.with_name(ledger).unlink(missing_ok=True)


def show(**row: Any) -> None:
    """A line of the table, as JSON."""
    print(json.dumps(row), flush=True)


WHAT = ("same", "killed", "growth", "estimate", "large", "ratio", "sets", "wide", "work")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("plan", nargs="*", type=Path)
    parser.add_argument("--records", type=int, nargs="+")
    parser.add_argument("--columns", type=int, default=800)
    parser.add_argument("--plans", nargs="+", choices=PLANS)
    parser.add_argument("--engines", nargs="+", default=["local", "duckdb", "spark"])
    parser.add_argument("--memory", default="2 GiB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--from", nargs="+", type=Path, dest="rows")
    given = parser.parse_args()
    if given.what == "work":
        print(json.dumps(work(given.plan, given.seed)))
        return
    folder = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    show(machine=platform.processor() or platform.machine(), cores=os.cpu_count())
    records = given.records[0] if given.records else 0
    plans = given.plans or MAIN
    if given.what == "same":
        same(folder, records or 200_000, given.plans or PLANS, given.engines)
    elif given.what == "killed":
        import scale_killed

        scale_killed.killed(folder, records or 200_000, given.plans)
    elif given.what == "growth":
        import scale_growth

        sizes = given.records or [10**6, 10**7]
        scale_growth.growth(folder, sizes, plans, given.engines, given.memory, given.rows)
    elif given.what == "estimate":
        import scale_growth

        scale_growth.estimate(given.rows or [folder / "growth.jsonl"], records or 10**9)
    elif given.what == "large":
        large(folder, records or 10**8, plans, ["duckdb"], given.memory)
    elif given.what == "ratio":
        large(folder, records or 10**7, plans, given.engines, given.memory)
    elif given.what == "sets":
        sets(folder, records or 20_616_891, given.engines, given.memory)
    else:
        wide(folder, records or 5_000_000, given.columns, given.memory)


if __name__ == "__main__":
    main()
