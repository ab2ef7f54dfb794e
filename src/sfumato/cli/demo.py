"""`sfumato demo`: a register of patients who do not exist, protected three ways."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ..data.generators import hospital
from ..data.io import write
from ..errors import OutputError
from ..release.draft import draft_plan
from ..release.plan import Plan
from ..release.release import Release
from ..release.run import protect, read_input
from ..release.step import Step, build
from .show import print_json, progress

_MEASURES = ("uniques", "prosecutor-risk", "record-linkage", "ncp", "sse", "correlation-difference")


def run(folder: Path, records: int, seed: int, *, json: bool) -> None:
    """Generate, draft, protect, compare."""
    if folder.exists():
        if not (folder / "register.csv").is_file():
            raise OutputError(f"{folder} exists and is not a demo", remedy="--output OTHER")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    say = (lambda text: None) if json else print
    register = folder / "register.csv"
    write(hospital(records, seed), register)
    say(f"1. {register}: {records:,} hospital stays of people who do not exist.")
    text = draft_plan(register, path=register.name)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    say(f"2. {folder / 'plan.toml'}: the draft of `sfumato init`, each column with a reason.")
    drafted = Plan.read(folder / "plan.toml")
    say("3. The same register by several plans:\n")
    results: dict[str, Release] = {}
    for name, plan in plans(drafted).items():
        (folder / f"{name}.toml").write_text(
            plan.with_(output=plan.output.model_copy(update={"path": name})).to_toml(), "utf-8"
        )
        table, _ = read_input(plan, folder)
        with progress(quiet=json) as tell:
            results[name] = protect(table, plan, seed, progress=tell)
            results[name].save(folder / name)
    if json:
        print_json({name: release.evidence.to_dict() for name, release in results.items()})
        return
    _compare(results)
    print(
        f"\n4. Open {folder / 'k-anonymous' / 'report.html'} in a browser: one release's evidence."
    )
    print(
        f"   Read {folder / 'k-anonymous.toml'}, change it, and run: sfumato protect ... --replace"
    )


def plans(drafted: Plan) -> dict[str, Plan]:
    """Three ways to protect the same register, each with the promise that suits it."""
    names = [step for step in drafted.steps if step.use.name in ("drop", "pseudonymize")]
    numbers = (
        "length_of_stay",
        "sodium",
        "potassium",
        "creatinine",
        "bun",
        "glucose",
        "hemoglobin",
    )

    def plan(steps: list[Step], **require: Any) -> Plan:
        from ..release.requirement import parse_requirement

        wanted = [
            r
            for key, value in require.items()
            for r in parse_requirement(key.replace("_", "-"), value)[0]
        ]
        return drafted.with_(steps=(*names, *steps), requirements=tuple(wanted))

    mondrian = Step(build("partitioner", "mondrian", {"k": 5}))
    mdav = Step(build("partitioner", "mdav", {"k": 5}))
    swap = Step(
        build("method", "rank-swap", {"p": 10, "columns": ("birth_date", "admission_date")})
    )
    noise = Step(build("method", "correlated-noise", {"amount": 0.2, "columns": numbers}))
    return {
        "k-anonymous": plan([mondrian], k_anonymity=5, record_linkage={"at-most": 0.2}),
        "microaggregated": plan([mdav], k_anonymity=5, record_linkage={"at-most": 0.2}),
        "perturbed": plan([swap, noise], record_linkage={"at-most": 0.2}),
    }


def _compare(results: dict[str, Release]) -> None:
    from rich import box
    from rich.table import Table as Grid

    from .show import _console

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("")
    for name in ("register", *results):
        grid.add_column(name, justify="right")
    for measure in _MEASURES:
        taken = {name: r.evidence.measurements.get(measure) for name, r in results.items()}
        before = next((m.baseline for m in taken.values() if m is not None), None)
        shown = measure in ("uniques", "prosecutor-risk") and before is not None
        row = [f"{before:.4g}" if shown else ""]
        row += [f"{m.value:.4g}" if m is not None else "-" for m in taken.values()]
        grid.add_row(measure, *row)
    promises = {
        name: ", ".join(f.subject for f in r.evidence.findings) for name, r in results.items()
    }
    grid.add_row("promised and recounted", "", *promises.values())
    _console().print(grid)
