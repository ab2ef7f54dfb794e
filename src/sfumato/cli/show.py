"""What the command line prints: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import runpy
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..aside import write_text
from ..candidate import FAMILIES
from ..errors import (
    InputError,
    SfumatoError,
    UnknownName,
)
from ..progress import silent
from ..registry import KINDS, entries
from ..texts import json_text, one_line, printable
from .saying import prompted, say

if TYPE_CHECKING:
    from ..explore.compare import Comparison
    from ..explore.components import Components
    from ..explore.lattice import SolutionSpace
    from ..explore.risk_utility import RiskUtilityMap
    from ..explore.tune import Tuned
    from ..methods.recoding.camouflage import Interval
    from ..release.plan.guess import Guess
    from ..release.records.evidence import Evidence
    from ..release.records.recover import Recovered
    from ..release.records.recovered_tree import RecoveredTree

_KIND_TITLES = {
    "method": "Methods (one step of a plan)",
    "partitioner": "Searches (one step of a plan, with a verb)",
    "verb": "Verbs (what is done to a search's groups)",
    "criterion": "Criteria ([require])",
    "measure": "Measures ([measures], or [require] with a limit)",
    "poset": "Posets (how a column generalizes)",
    "attack": "Attacks ([measures], or [require] with a limit)",
    "rule": "Rules ([[table.rules]]: which cells of a table are sensitive)",
    "table-method": "Methods for tables ([table.protect])",
    "engine": "Engines ([engine]: where steps run)",
}


def print_json(content: Any) -> None:
    """One JSON document on standard output."""
    say(json_text(content, indent=2, default=str))


def grid(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Sequence[int] = (0,),
    boxed: bool = True,
    no_wrap: bool = False,
) -> None:
    """A table on standard output; the columns that are not `left` stand to the right."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD if boxed else None, pad_edge=False)
    for i, title in enumerate(head):
        drawn.add_column(_cell(title), justify="left" if i in left else "right", no_wrap=no_wrap)
    for row in rows:
        drawn.add_row(*map(_cell, row))
    console().print(drawn)


def _cell(text: str) -> str:
    """One cell on one line; the blanks before a code tell its depth."""
    return printable(text.replace("\n", " "))


def notes_aside(*notes: str) -> None:
    """Notes, on standard error."""
    for note in notes:
        say(f"note: {one_line(note)}", file=sys.stderr)


def console(*, error: bool = False) -> Any:
    """Where tables and bars are drawn."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    # A pipe has no width: never cut what a program or a file will read.
    width = None if stream.isatty() else 160
    return Console(stderr=error, width=width, highlight=False, markup=False)


@contextlib.contextmanager
def progress(*, quiet: bool, name: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error while there is someone to watch it.

    Where nobody watches, work that has a name says each new stage on a line of its own.
    """
    if quiet or not sys.stderr.isatty():
        yield silent if quiet or not name else _stages(name)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(error=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(what: str, done: int, of: int) -> None:
            bar.update(task, description=one_line(what), completed=done, total=of)

        yield tell


def _stages(name: str) -> Callable[[str, int, int], None]:
    """A line for every stage that differs from the one before."""
    last = ""

    def tell(what: str, done: int, of: int) -> None:
        nonlocal last
        if what != last:
            say(f"   {name}: {one_line(what)}", file=sys.stderr, flush=True)
        last = what

    return tell


def load_plugins(files: list[Path] | None) -> None:
    """Run the user's own files, which register what they define."""
    for file in files or []:
        if not file.is_file():
            raise InputError(f"there is no plugin file {file}")
        try:
            runpy.run_path(str(file), run_name=file.stem)
        except SfumatoError:
            raise
        except Exception as error:
            raise InputError(
                f"the plugin {file} failed: {type(error).__name__}: {error}"
            ) from error


def write_plan(target: Path, text: str) -> None:
    """Write a draft, whole or not at all."""
    write_text(target, text, private=True)


def drafted(target: Path, text: str, *, json: bool) -> None:
    """What `init` found."""
    if json:
        print_json({"plan": str(target), "text": text})
        return
    inside = False
    for line in text.splitlines():
        inside = inside or line == "[columns]"
        if inside and not line:
            break
        if inside and " = {" in line:
            name, _, rest = line.partition(" = ")
            role = rest.partition('role = "')[2].partition('"')[0]
            say(f"  {role:<13} {name:<22} {rest.rpartition('  # ')[2]}")
    first = text.partition("# Please check first:\n")[2].partition("\n\n")[0]
    if first:
        say("\nplease check first:", first.replace("#   ", "  "), sep="\n")
    say(f"\nwrote {target}: read it, correct the guesses, then\n  sfumato protect {target}")


def role_of(made: Guess) -> str:
    """The role that a person gives a column of which the draft is not sure."""
    from ..data.schema import Role

    roles = [role.value for role in Role if role != Role.UNDECIDED]
    while True:
        asked = one_line(f"{made.name}: {made.why}")
        words = f"{asked}\n  its role ({', '.join(roles)})"
        given = prompted(words, made.role.value).strip()
        if given in roles:
            return given
        notes_aside(f"there is no role {given!r}")


def tuned(found: Tuned, *, json: bool) -> None:
    """Every value that `tune` tried."""
    if json:
        trials = [
            {"value": t.value, "mean": t.mean, "draws": t.measured, **t.also} for t in found.trials
        ]
        keys = ("parameter", "value", "met", "measure", "at_most")
        print_json({**{key: getattr(found, key) for key in keys}, "trials": trials})
        return
    rows = []
    for trial in found.trials:
        figures = (trial.mean, min(trial.measured), max(trial.measured), *trial.also.values())
        rows.append((str(trial.value), *(f"{figure:.4g}" for figure in figures)))
    grid((found.parameter, found.measure, "from", "to", *found.trials[0].also), rows, left=())
    if found.met:
        say(f"{found.parameter} = {found.value}   keeps {found.measure} <= {found.at_most:g}")


def listed(kind: str, *, json: bool) -> None:
    """Everything registered."""
    if kind and kind not in KINDS:
        raise UnknownName("kind", kind, KINDS)
    found = list(entries(kind or None))
    if json:
        keys = ("kind", "name", "summary", "aliases", "family", "when")
        print_json([{key: getattr(entry, key) for key in keys} for entry in found])
        return
    if not kind:
        say("What shall the release be? Beside each name stands when to take it.\n")
        for family, does in FAMILIES.items():
            say(f"{does[0].upper()}{does[1:]} ({family})")
            for entry in found:
                if entry.family == family:
                    _named(entry.name, entry.when)
            say()
        say(f"{_ADVISE}\n\nAll there is, by name\n")
    for one in KINDS:
        chosen = [entry for entry in found if entry.kind == one]
        if chosen:
            say(_KIND_TITLES[one])
            for entry in chosen:
                alias = f" (also {', '.join(entry.aliases)})" if entry.aliases else ""
                _named(entry.name, f"{entry.summary}{alias}")
            say()
    say("sfumato explain NAME tells more.", *([] if kind else [_ADVISE]), sep="\n")


_ADVISE = "Start with sfumato advise FILE: it tries methods and measures loss and risk."


def _named(name: str, said: str) -> None:
    """A name and what is said of it, below one another where a terminal is narrow."""
    # A pipe has no width: never cut what a program or a file will read.
    width = shutil.get_terminal_size((10_000, 0)).columns
    indent = " " * 28
    lines = textwrap.wrap(said, max(width - len(indent), 20), break_on_hyphens=False) or [""]
    say(f"  {name:<25} {lines[0]}", *lines[1:], sep=f"\n{indent}")


def attacked(evidence: Evidence, *, json: bool) -> None:
    """What each attack achieved: those with a control by what they get beyond it, the others beside
    chance and the match anybody would try."""
    if json:
        print_json({**evidence.to_dict(), "private": True})
        return
    from ..release.report.attacked import BESIDE, OWN, PLAIN
    from ..release.report.attacked import attacked as told
    from ..release.report.attacks import CLAIMS

    found = told(evidence)
    if found.beside:
        grid(BESIDE, found.beside)
    if found.claims:
        grid(("claim that somebody is in the data", *map(str.lower, CLAIMS)), found.claims)
    if found.plain:
        grid(PLAIN, found.plain, boxed=False)
    say(*found.notes, *found.verdict, *found.unseen, OWN, sep="\n")


def mapped(found: RiskUtilityMap, output: Path | None, *, json: bool) -> None:
    """The front of a map, and what could not be made."""
    if json:
        print_json({"releases": found.data.to_dicts(), "failed": dict(found.failed)})
        return
    say(f"{found.data.height} releases; these no other one beats:")
    width = max(len(label) for label in found.front["label"])
    say(f"  {'':<{width}}  {found.loss.name:>18}  {found.risk.name:>18}")
    for row in found.front.iter_rows(named=True):
        say(f"  {row['label']:<{width}}  {row['loss']:>18.4g}  {row['risk']:>18.4g}")
    for label, why in found.failed.items():
        say(f"not made: {label}: {why}")
    if output is not None:
        say(f"wrote {output}")


def nodes(found: SolutionSpace, output: Path | None, *, json: bool) -> None:
    """The best nodes of a lattice, and how to publish one."""
    if json:
        print_json(found.to_dict())
        return
    rows = [
        (
            *(str(level) for level in node.levels.values()),
            f"{node.value:.6g}",
            f"{100 * (node.suppressed or 0.0):.2f} %",
            str(node.classes),
        )
        for node in found.best
    ]
    if rows:
        grid((*found.highest, found.measure, "suppressed", "classes"), rows, left=())
    else:
        say("no combination of levels has what is asked")
    say(f"{found.looked_at:,} of {found.size:,} combinations of levels were looked at")
    if found.ended:
        notes_aside("the budget ended the search: there may be better ones")
    if rows:
        say(f"to publish one, put its levels into the step: {found.best[0].words}")
    if output is not None:
        say(f"wrote {output}: it tells who stands out at which levels, keep it private")


def side_by_side(found: Comparison, output: Path | None, *, json: bool) -> None:
    """Releases beside one another."""
    if json:
        print_json(found.to_dict())
        return
    notes_aside(*found.notes)
    rows, last = [], ""
    for about, *cells in found.data.iter_rows():
        rows.append((about if about != last else "", *cells))
        last = about
    grid(("", "", *found.names), rows, left=(0, 1))
    if output is not None:
        say(f"wrote {output}: it compares with the original, keep it private")


def compared(found: Components, output: Path | None, *, json: bool) -> None:
    """A release along the kernel principal components of its original."""
    if json:
        print_json(found.table.to_dicts())
        return
    rows = [
        [str(v) if isinstance(v, int) else f"{v:.3g}" for v in row]
        for row in found.table.iter_rows()
    ]
    grid([name.replace("_", " ") for name in found.table.columns], rows, left=(), boxed=False)
    say("distance: Kolmogorov-Smirnov, 0 the same to 1 apart; p: that of a sub-sample")
    if output is not None:
        say(f"wrote {output}")


def answered(question: str, answer: Interval, *, json: bool) -> None:
    """An answer to a camouflaged table."""
    if json:
        print_json({"question": question, "low": answer.low, "high": answer.high})
    elif answer.exact:
        say(f"{answer.low:g}")
    else:
        say(f"between {answer.low:g} and {answer.high:g}")


def recovered(found: Recovered, *, json: bool) -> None:
    """Statistics of the original, by the step that is undone."""
    if json:
        print_json(found.to_dict())
        return
    for label, statistics in found.by_step.items():
        say(f"step {label}")
        for what, values in statistics.items():
            say(f"  {what}")
            for name, value in dict(values).items():
                shown = f"{value:.6g}" if isinstance(value, float) else _brief(value)
                say(f"    {name:<24} {shown}")
    for note in found.notes:
        say(f"note: {one_line(note)}")


def recovered_tree(found: RecoveredTree, *, json: bool) -> None:
    """A tree from noisy records, question by question."""
    if json:
        print_json(found.to_dict())
        return
    say(f"{found.target}, with the noise of {', '.join(found.recovered)} undone class by class")
    say(found.rules)


def _brief(value: Any) -> str:
    """A row of numbers on a line; a long one is cut, and `--json` has it in full."""
    if isinstance(value, dict):
        inner = [
            f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {_brief(v)}" for k, v in value.items()
        ]
        return ", ".join(inner[:8]) + (f", ... ({len(inner)})" if len(inner) > 8 else "")
    if isinstance(value, list | tuple):
        return " ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in value[:8]) + (
            f" ... ({len(value)})" if len(value) > 8 else ""
        )
    return str(value)
