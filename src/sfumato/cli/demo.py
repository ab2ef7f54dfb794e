"""`sfumato demo`: a register of patients who do not exist, protected in several ways."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..aside import write_text
from ..data.generators import businesses, hospital
from ..data.io import write
from ..errors import OutputError
from ..release.plan.draft import draft_plan
from ..release.plan.plan import Plan
from ..release.plan.requirement import Requirement, parse_requirement
from ..release.plan.step import Step, build
from ..release.records.release import Release
from ..release.records.run import protect, read_input
from ..release.seeds import guessable
from ..release.tables.run import run_table
from .saying import say
from .show import grid, print_json, progress
from .tables import show_page

_MARK = ".sfumato-demo"
_MEASURES = (
    "uniques",
    "prosecutor-risk",
    "record-linkage",
    "marginals",
    "ncp",
    "sse",
    "correlation-difference",
    "distribution-distance",
)

_TABLE = """
[input]
path = "businesses.csv"

[table]
dimensions = ["region", "size"]
value = "turnover"
holding = "holding"

[[table.rules]]
use = "p-percent"
p = 10

[[table.rules]]
use = "minimum-frequency"
minimum = 3

[table.protect]
use = "optimal-suppression"

[output]
path = "table"
"""


def run(folder: Path, records: int, seed: int, *, replace: bool, json: bool) -> None:
    """Generate, draft, protect, compare."""
    if folder.exists():
        if not (folder / _MARK).is_file():
            raise OutputError(f"{folder} exists and is not a demo", remedy="--output OTHER")
        if not replace:
            what = f"{folder} holds an earlier demo, and perhaps plans that you changed"
            raise OutputError(what, remedy="--replace, or --output OTHER")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    about = "Made by `sfumato demo`, which replaces this folder.\n"
    write_text(folder / _MARK, about, private=False)

    def tell_of(text: str) -> None:
        if not json:
            say(text, flush=True)

    register = folder / "register.csv"
    write(hospital(records, seed), register)
    tell_of(f"1. {register}: {records:,} hospital stays of people who do not exist.")
    text = draft_plan(register, path=register.name)
    write_text(folder / "plan.toml", text, private=True)
    tell_of(f"2. {folder / 'plan.toml'}: the draft of `sfumato init`, each column with a reason.")
    drafted = with_exception(Plan.read(folder / "plan.toml"))
    tell_of("3. The same register by several plans:\n")
    results: dict[str, Release] = {}
    for name, plan in plans(drafted).items():
        said = plan.with_(output=plan.output.model_copy(update={"path": name}))
        write_text(folder / f"{name}.toml", said.to_toml(), private=True)
        table, _ = read_input(plan, folder)
        with progress(quiet=json, name=name) as tell:
            results[name] = protect(table, plan, seed, output=folder / name, progress=tell)
            tell("writing, counting again and drawing", 1, 1)
            # Nobody in it exists, and the same demo is made every time.
            results[name].save(folder / name, allow_guessable_seed=True)
    if json:
        print_json({name: release.evidence.to_dict() for name, release in results.items()})
        return
    _compare(results)
    _table(folder, seed)
    print(
        f"\n5. Open {folder / 'k-anonymous' / 'report.html'} in a browser: one release's evidence."
    )
    if guessable(seed):
        print(f"   It begins with a caution: the seed {seed} can be guessed. Yours is left out.")
    print(
        f"   Read {folder / 'k-anonymous.toml'}, change it, and run: sfumato protect ... --replace"
    )


def _table(folder: Path, seed: int) -> None:
    """The other half: a table of made-up businesses, protected and audited."""
    source = folder / "businesses.csv"
    write(businesses(1500, seed), source)
    say(f"\n4. {source}: turnover of businesses that do not exist, by size and region.", flush=True)
    plan = Plan.parse(_TABLE)
    write_text(folder / "table.toml", _TABLE.lstrip(), private=True)
    with progress(quiet=False, name="table") as tell:
        release = run_table(plan, folder, seed=seed, progress=tell)
        tell("writing and auditing again", 1, 1)
        release.save(folder / "table", allow_guessable_seed=True)
    show_page(release.view(most_rows=40, most_columns=12))
    say(release.public_summary)


def with_exception(drafted: Plan) -> Plan:
    """Who is who is named, and why the same people are published several times."""
    named = drafted.input.model_copy(update={"person": "record_no"})
    return drafted.with_(input=named).excepted(
        "one register protected in several ways, to be compared; its people do not exist"
    )


def plans(drafted: Plan) -> dict[str, Plan]:
    """Four ways to protect the same register, each with the promise that suits it."""
    names = [step for step in drafted.steps if step.use.name in ("drop", "pseudonymize")]

    def plan(*steps: Step, **require: Any) -> Plan:
        wanted: list[Requirement] = []
        for key, words in require.items():
            wanted += parse_requirement(key.replace("_", "-"), words)[0]
        return drafted.with_(steps=(*names, *steps), requirements=tuple(wanted))

    def method(name: str, **parameters: Any) -> Step:
        return Step(build("method|partitioner", name, parameters))

    laboratory = ("sodium", "potassium", "creatinine", "bun", "glucose", "hemoglobin", "wbc")
    suppressed = plan(
        method("global-recoding", levels={"zip": 1, "birth_date": 6, "admission_date": 6}),
        method("local-suppression", k=5),
        k_anonymity=5,
    )
    halves = build("poset", "balanced", {})
    dates = {
        n: dataclasses.replace(drafted.columns[n], poset=halves)
        for n in ("birth_date", "admission_date")
    }
    return {
        "k-anonymous": plan(method("mondrian", k=5), k_anonymity=5, record_linkage=0.2),
        "microaggregated": plan(method("mdav", k=5), k_anonymity=5, record_linkage=0.2),
        "suppressed": suppressed.with_(columns={**drafted.columns, **dates}),
        "perturbed": plan(
            method("global-recoding", levels={"zip": 2}),
            method("rank-swap", p=50, columns=("birth_date", "admission_date", "length_of_stay")),
            method("correlated-noise", amount=0.2, columns=laboratory),
            record_linkage=0.25,
        ),
    }


def _compare(results: dict[str, Release]) -> None:
    rows: list[Sequence[str]] = []
    for measure in _MEASURES:
        taken = {name: r.evidence.measurements.get(measure) for name, r in results.items()}
        before = next((m.baseline for m in taken.values() if m is not None), None)
        shown = measure in ("uniques", "prosecutor-risk") and before is not None
        figures = ("-" if m is None else f"{round(m.value, 4):g}" for m in taken.values())
        rows.append((measure, f"{before:.4g}" if shown else "", *figures))
    promises = (", ".join(f.subject for f in r.evidence.findings) for r in results.values())
    rows.append(("promised and recounted", "", *promises))
    grid(("", "register", *results), rows)
