"""The red team beside anonymeter, on releases of which everybody knows whether they must fail.

    python benchmarks/red_team.py verdicts [--population NAME] [--seeds 20] [--records 9000]
    python benchmarks/red_team.py speed [--records 100000]
    python benchmarks/red_team.py suite [--records 27000 --records 1000000]

All take --quick (does everything run?), --skip-peers and --json FILE.

verdicts  Every release of `red_team_releases.py` under each seed. A release is refused where the
    upper bound of an attack's advantage exceeds 0.05, by any attack. Of ours the bounds are
    corrected for their number (Holm). Of anonymeter it is the upper end of its 95 % interval,
    uncorrected; since few attempts alone make that wide, "shown" counts the seeds in which some
    interval lies above 0.05 as a whole. anonymeter attacks 2,000 people, ours as it does. From
    seed --whole on, attacks on what must be refused end with the first that leaks for certain. A
    run that was stopped goes on from its --json FILE.
speed  CPU seconds of singling-out, linkability and inference beside anonymeter's evaluators on the
    same release: sums over one and several columns, and over the confidential columns. anonymeter
    attacks 2,000 people of the data and 2,000 others.
suite  Wall and CPU seconds of every attack of ours (or of --attack NAME), tried by `withstand` on
    classes of five with three diagnoses and noise on two columns, so that every attack applies;
    `composition` is given a second release of the same people.

anonymeter reads numbers and words only: of a generalized release it is given the middles of
intervals, and a member's value where a class has several. It has no identifier, which would be
unique in the release and true of nobody. Its linkability has every other column on either side; its
inference knows the quasi-identifiers. Every attack is done once on a few records before its clock
starts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import red_team_releases as releases
import show
from environment import HERE, ROOT, PeersUnavailableError, peers_python, run
from gauge import cpu_seconds

import sfumato as sf
from sfumato.attacks.controlled import LIMIT, ControlledAttack
from sfumato.progress import listening
from sfumato.registry import entries

COMPARED = ("singling-out", "linkability", "inference")
"""What anonymeter has, too."""
PEER = (".venv-peers-2", "peers-requirements-2.txt")
ATTACKS = 2_000
"""Attempts of anonymeter."""
COLUMNS = 4
"""Of a predicate on several."""
ATTEMPTS = 50
"""Predicates on several columns that anonymeter may try for each one that it wants."""
_WARM = 400
Row = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What one attack found, and what it took."""

    attack: str
    advantage: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    wall: float = np.nan
    cpu: float = np.nan
    failure: str = ""


class Clock:
    """Wall and CPU seconds of each attack that `withstand` tries, by what it reports."""

    def __init__(self, tell: Callable[[str, float, float], None] | None = None) -> None:
        self.spent: dict[str, tuple[float, float]] = {}
        self._tell = tell
        self._name, self._began = "", (0.0, 0.0)

    def __call__(self, what: str, done: int, of: int) -> None:
        if what.startswith(_BEGINS):
            self.stop()
            self._name = what.removeprefix(_BEGINS)
            self._began = time.perf_counter(), cpu_seconds()

    def stop(self) -> None:
        """The last attack has ended."""
        if self._name:
            now = time.perf_counter(), cpu_seconds()
            spent = now[0] - self._began[0], now[1] - self._began[1]
            self.spent[self._name] = spent
            if self._tell:
                self._tell(self._name, *spent)
        self._name = ""


_BEGINS = "attacking by "


def ours(
    original: sf.Table,
    released: sf.Table,
    control: sf.Table,
    seed: int,
    names: Sequence[str] = (),
    until: float | None = None,
) -> list[Found]:
    """Every attack with a control (or those named) on a release beside people held out, as
    `withstand` tries and judges them, or until one gets more for certain. What was tried on too few
    has shown nothing, and is bounded by 1."""
    clock = Clock()
    with listening(clock):
        told = sf.measure(
            "withstand", original, released, "none", seed=seed, reference=control,
            attacks=tuple(names), seconds=_NO_END, until=until,
        )  # fmt: skip
    clock.stop()
    return judged(told, clock)


_NO_END = 1e6


def judged(told: sf.Measurement, clock: Clock) -> list[Found]:
    """Of each attack what it found, and what it took."""
    found = []
    for name, one in told.private["measurements"].items():
        lower = [of.interval[0] for of in one.private["advantages"].values()]
        upper = told.detail["attacks"][name]["upper"]
        if one.detail.get("refuses"):
            upper = 1.0
        ends = max(lower, default=np.nan), upper
        found.append(Found(name, one.detail["advantage"], *ends, *clock.spent[name]))
    left = {**dict.fromkeys(told.detail.get("unfinished", ()), "failed")}
    for name, why in {**told.detail["not_applicable"], **left}.items():
        found.append(Found(name, failure=why.splitlines()[0]))
    return found


def suite() -> list[str]:
    """The attacks that are judged by people held out."""
    known = ((entry.name, entry.load()) for entry in entries("attack"))
    return [name for name, cls in known if issubclass(cls, ControlledAttack)]


@dataclass
class Peer:
    """anonymeter, in its own environment."""

    python: Path
    folder: Path
    versions: str = ""

    def answers(
        self, asked: Sequence[tuple[releases.Case, int]], tasks: Sequence[Row], limit: float
    ) -> list[list[Found]]:
        """What it finds in each release, all in one process."""
        requests = [self._request(case, seed, tasks) for case, seed in asked]
        source = self.folder / "requests.json"
        source.write_text(json.dumps(requests), encoding="utf-8")
        ran = run(self.python, "attacks_peer_worker.py", [str(source)], limit=limit)
        if not ran.ok:
            return [[Found(_name(task), failure=ran.failure) for task in tasks] for _ in asked]
        self.versions = ", ".join(f"{k} {v}" for k, v in ran.found["versions"].items())
        return [[_read(one) for one in answer] for answer in ran.found["answers"]]

    def _request(self, case: releases.Case, seed: int, tasks: Sequence[Row]) -> Row:
        frames = {
            "original": case.original.without([releases.PERSON]).frame,
            "released": case.plain,
            "control": case.control.without([releases.PERSON]).frame,
        }
        paths = {}
        for name, frame in frames.items():
            # People and control are the same for all releases of a seed.
            of = f"-{case.name}" if name == "released" else ""
            paths[name] = str(self.folder / f"{name}{of}-{seed}.parquet")
            frame.write_parquet(paths[name])
        return {**paths, "seed": seed, "attacks": ATTACKS, "tasks": list(tasks)}


def tasks_of(population: str) -> list[Row]:
    """anonymeter's evaluators on a population."""
    quasi, confidential = releases.POPULATIONS[population]
    names = [*quasi, *confidential]
    several = {"columns": COLUMNS, "attempts": ATTEMPTS * ATTACKS}
    return [
        {"task": "singling-out-univariate"},
        {"task": "singling-out-multivariate", **several},
        {"task": "linkability", "sides": [names[::2], names[1::2]]},
        *({"task": "inference", "secret": name, "known": quasi} for name in confidential),
    ]


def _name(task: Row) -> str:
    return f"{task['task']} {task.get('secret', '')}".strip()


def _read(answer: Row) -> Found:
    if "failure" in answer:
        return Found(_name(answer), failure=answer["failure"])
    lower, upper = answer["interval"]
    return Found(_name(answer), answer["risk"], lower, upper, answer["wall"], answer["cpu"])


def verdicts(given: argparse.Namespace, peer: Peer | None) -> Iterator[Row]:
    """A row for each release, seed, contender and attack; what the file of an earlier run holds is
    not made again."""
    kept = Path(given.json) if given.json else None
    rows: list[Row] = []
    if kept and kept.exists():
        rows = json.loads(kept.read_text(encoding="utf-8"))
    known = {tuple(row[key] for key in ABOUT) for row in rows}
    for population in given.population or releases.POPULATIONS:
        for seed in range(given.seeds):
            for contender in ["Sfumato"] + ["anonymeter"] * (seed < given.peer_seeds):
                asked = (population, seed, contender)
                left = [name for name in releases.RELEASES if (*asked, name) not in known]
                if not left or (contender == "anonymeter" and not peer):
                    continue
                print(*asked, file=sys.stderr, flush=True)
                made = releases.cases(population, given.records[0], seed, left)
                judged = _by_us(made, seed, LIMIT if seed >= given.whole else None)
                if contender == "anonymeter":
                    judged = _by(peer, made, asked, given.limit)
                for name, results in judged:
                    about = dict(zip(ABOUT, (*asked, name), strict=True))
                    rows += [{**about, **asdict(one)} for one in results]
                    if kept:
                        _write(kept, rows)
    yield from rows


ABOUT = ("population", "seed", "contender", "release")
"""What a verdict is about."""


def _by_us(
    made: Iterable[releases.Case], seed: int, until: float | None
) -> Iterator[tuple[str, list[Found]]]:
    for case in made:
        yield case.name, ours(*_given(case), seed, until=until if case.must_fail else None)


def _by(
    peer: Peer | None, made: Iterable[releases.Case], asked: tuple[str, int, str], limit: float
) -> Iterator[tuple[str, list[Found]]]:
    """All releases of a seed in one process."""
    assert peer is not None
    cases = list(made)
    answers = peer.answers([(case, asked[1]) for case in cases], tasks_of(asked[0]), limit)
    yield from zip([case.name for case in cases], answers, strict=True)


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def _given(case: releases.Case) -> tuple[sf.Table, sf.Table, sf.Table]:
    return case.original, case.released, case.control


def verdict_tables(rows: Sequence[Row]) -> Iterator[str]:
    """Who refuses what, and by which attack."""
    refused, shown = _counts(rows, "upper"), _counts(rows, "lower")
    contenders = list(dict.fromkeys(row["contender"] for row in rows))
    lines, by_attack = [], []
    for population, release in dict.fromkeys((row["population"], row["release"]) for row in rows):
        must = "fail" if release in releases.MUST_FAIL else "pass"
        line = [population, release, must]
        for contender in contenders:
            key = (population, release, contender)
            line += [_of(refused, key), _of(shown, key)]
        lines.append(line)
    header = ["population", "release", "must"]
    for contender in contenders:
        header += [f"{contender} refuses", "shown"]
    yield show.table(f"Refused at {LIMIT}, by any attack: seeds", header, lines)
    for attack in dict.fromkeys(_key(row) for row in rows):
        mine = [row for row in rows if _key(row) == attack]
        failures = {row["failure"] for row in mine if row["failure"]}
        values = [row["advantage"] for row in mine if not row["failure"]]
        above = [sum(row[end] > LIMIT for row in mine) for end in ("upper", "lower")]
        median = f"{np.median(values):.3f}" if values else ""
        spent = show.seconds(float(np.median([row["cpu"] for row in mine]))) if values else ""
        counted = (f"{count}/{len(values)}" for count in above)
        by_attack.append([*attack, median, *counted, spent, "; ".join(sorted(failures))])
    header = ["population", "release", "contender", "attack", "advantage", "refused", "shown",
              "CPU s", "failed"]  # fmt: skip
    yield show.table("By attack: medians over the seeds", header, by_attack)


def _key(row: Row) -> tuple[str, str, str, str]:
    return row["population"], row["release"], row["contender"], row["attack"]


def _counts(rows: Sequence[Row], end: str) -> dict[tuple[str, str, str], dict[int, bool]]:
    """For each release and contender, the seeds in which some attack's end is above the limit."""
    counts: dict[tuple[str, str, str], dict[int, bool]] = {}
    for row in rows:
        seeds = counts.setdefault(_key(row)[:3], {})
        seeds[row["seed"]] = seeds.get(row["seed"], False) or row[end] > LIMIT
    return counts


def _of(counts: dict[tuple[str, str, str], dict[int, bool]], key: tuple[str, str, str]) -> str:
    seeds = counts.get(key, {})
    return f"{sum(seeds.values())}/{len(seeds)}"


def speed(given: argparse.Namespace, peer: Peer | None) -> Iterator[Row]:
    """A row for each of the three attacks, ours and anonymeter's."""
    names = [name for name in suite() if name in COMPARED]
    _warm(names)
    for case in releases.cases("register", given.records[0], 0, ["copies"]):
        results = {one.attack: one for one in ours(*_given(case), 0, names)} if names else {}
        theirs: dict[str, list[Found]] = {}
        for task in tasks_of("register") if peer else ():
            print(_name(task), file=sys.stderr)
            assert peer is not None
            name = next(name for name in COMPARED if task["task"].startswith(name))
            # A process to each, so that one beyond its time takes no other with it.
            theirs.setdefault(name, []).extend(peer.answers([(case, 0)], [task], given.limit)[0])
        for name in COMPARED:
            about = {"records": case.released.height}
            for found in theirs.get(name, ()):
                yield {**about, "contender": "anonymeter", **asdict(found)}
            if name in results:
                spent = sum(found.cpu for found in theirs.get(name, ()))
                ratio = results[name].cpu / spent if spent else None
                yield {**about, "contender": "Sfumato", **asdict(results[name]), "ratio": ratio}


def whole(given: argparse.Namespace, _: Peer | None) -> Iterator[Row]:
    """A row for each attack of ours at each size."""
    for records in (_WARM, *given.records):  # kernels are compiled on a few records
        warm = records == _WARM
        with tempfile.TemporaryDirectory(prefix="sfumato-red-team-") as place:
            release, control, other = _planned(records, Path(place))
            asked = [
                sf.method(name, given=[other]) if name == "composition" else name
                for name in given.attack or suite()
            ]
            clock = Clock(None if warm else _told)
            more: Row = {"reference": control, "seconds": _NO_END, "progress": clock}
            found = sf.attack(release, attacks=asked, **more)
            clock.stop()
        if not warm:
            for one in judged(found["withstand"], clock):
                yield {"records": records, "contender": "Sfumato", **asdict(one)}


def _told(name: str, wall: float, cpu: float) -> None:
    print(f"{name}: {wall:.1f} s, {cpu:.1f} CPU s", file=sys.stderr, flush=True)


def _planned(records: int, place: Path) -> tuple[sf.Release, sf.Table, str]:
    """A release of the register by a plan to which every attack applies, people who are not in it,
    and another release of the same people, of which `composition` is told."""
    people, control = (releases.patients(records, i).without([releases.PERSON]) for i in (0, 1))
    numbers = ["glucose", "charges"]
    diverse = sf.method("l-diversity", column="diagnosis", l=3)
    plan = sf.Plan(
        steps=(
            sf.Step(sf.method("mondrian", k=5, criteria=[diverse])),
            sf.Step(sf.method("noise", columns=numbers)),
        )
    )
    bare: Row = {"require": {"exposure": False}, "measures": ()}
    release = sf.protect(people, plan, seed=2**70, **bare)
    other = sf.protect(people, sf.method("mondrian", k=7), seed=2**71, **bare)
    path = place / f"{records}.parquet"
    other.table.frame.write_parquet(path)
    return release, control, str(path)


def _warm(names: Sequence[str]) -> None:
    """Kernels are compiled on a few records."""
    for case in releases.cases("register", _WARM, 0, ["copies"]):
        ours(*_given(case), 0, names)


def time_tables(rows: Sequence[Row]) -> Iterator[str]:
    """Seconds of each attack."""
    lines = []
    for row in rows:
        ends = "" if row["failure"] else f"{row['lower']:.3f} to {row['upper']:.3f}"
        took = ["", ""] if row["failure"] else map(show.seconds, (row["wall"], row["cpu"]))
        ratio = row.get("ratio")
        lines.append(
            [show.whole(row["records"]), row["contender"], row["attack"], *took,
             "" if ratio is None else f"{ratio:.3f}", ends, row["failure"]]
        )  # fmt: skip
    header = ["records", "contender", "attack", "s", "CPU s", "of anonymeter's", "advantage",
              "failed"]  # fmt: skip
    yield show.table("Seconds of the attacks", header, lines)
    for records in dict.fromkeys(row["records"] for row in rows):
        mine = [row for row in rows if (row["contender"], row["records"]) == ("Sfumato", records)]
        if mine:
            spent = np.nansum([row["wall"] for row in mine])
            yield f"\nSfumato, {records:,} records, all attacks above: {spent:.1f} s"


PARTS = {
    "verdicts": (verdicts, verdict_tables, [9_000]),
    "speed": (speed, time_tables, [100_000]),
    "suite": (whole, time_tables, [27_000, 1_000_000]),
}


def main() -> None:
    """One part: its rows, and its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--population", action="append", choices=list(releases.POPULATIONS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--peer-seeds", type=int, default=20, help="so many of them for anonymeter")
    parser.add_argument("--whole", type=int, default=5, help="so many with every attack on all")
    parser.add_argument("--records", type=int, action="append")
    parser.add_argument("--attack", action="append", choices=suite(), help="of suite: this one")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one process")
    parser.add_argument("--quick", action="store_true", help="few records, one seed")
    parser.add_argument("--skip-peers", action="store_true", help="Sfumato alone")
    parser.add_argument("--json", metavar="FILE", help="write every figure to this file, too")
    given = parser.parse_args()
    make, tables, usual = PARTS[given.part]
    given.records = given.records or ([3_000] if given.quick else usual)
    given.seeds = 1 if given.quick else given.seeds
    with tempfile.TemporaryDirectory(prefix="sfumato-red-team-") as place:
        peer = None
        if not given.skip_peers and given.part != "suite":
            try:
                peer = Peer(peers_python(ROOT / PEER[0], HERE / PEER[1]), Path(place))
            except (PeersUnavailableError, OSError) as error:
                print(f"anonymeter could not be installed: {error}")
        rows = list(make(given, peer))
    print(*tables(rows), sep="\n")
    if peer:
        print("", peer.versions, sep="\n")
    if given.json:
        _write(Path(given.json), rows)


if __name__ == "__main__":
    main()
