"""Attacking a release: one attack, or all that apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

from ..addresses import is_address
from ..attacks.controlled import ControlledAttack
from ..attacks.withstand import Withstand
from ..data.linkage.earlier import data_file
from ..data.linkage.like import like_original
from ..data.pair import Pair
from ..errors import InputError, MeasureError, ParameterError, UnknownName
from ..progress import Listener, listening, silent
from ..protocols import Measurement
from ..registry import entries, find
from ..rng import checked_seed
from .given.earlier import given_by
from .pairing import pair_of_files
from .plan.plan import Plan
from .plan.step import build, measure_of
from .records.again import again
from .records.evidence import Evidence, Measuring
from .records.release import Release
from .records.run import read_input, source_of
from .staging import private_path

WITHSTAND = Withstand.name


@overload
def attack(release: Release | str | Path, name: str, **more: Any) -> Measurement: ...
@overload
def attack(release: Release | str | Path, name: None = None, **more: Any) -> Evidence: ...
def attack(
    release: Release | str | Path,
    name: str | None = None,
    *,
    attacks: str | Iterable[Any] = (),
    seconds: float | None = None,
    reference: Any = None,
    original: str | Path = "",
    plan: Plan | str | Path | None = None,
    align: str = "auto",
    seed: int = 0,
    progress: Listener | None = None,
    **parameters: Any,
) -> Measurement | Evidence:
    """Attack a release, or the folder of one, with what its publication tells every intruder.

    With a name, one attack: `sf.attack(release, "linkability", neighbours=5)`. Without, all that
    apply (or those in `attacks`), in `seconds` at most, 600 unless given: `found["withstand"]` is
    the largest upper bound of what one gets beyond the control, `found["linkability"]` what this
    one got. `reference` are people who are not in the data, where the release knows of none. Of a
    folder, plan and place of the original are those of its private twin unless given. Of a file
    that another tool made, `original` is the file that it was made of and `align` says, as in
    `assess`, which record became which.

    >>> import sfumato as sf
    >>> people = sf.table({"x": [1.0, 2.0, 4.0, 9.0]}, quasi=["x"])
    >>> release = sf.protect(people, sf.method("rank-swap", count=1), seed=1)
    >>> sf.attack(release, "rank-swap-attack").baseline
    0.25
    """
    if isinstance(name, Release):
        raise ParameterError(
            "sf.attack takes the release first, then the name of an attack",
            remedy=f'sf.attack(release, "{release}")',
        )
    if isinstance(plan, str | Path):
        plan = Plan.read(plan)
    seed = checked_seed(seed)
    named = [attacks] if isinstance(attacks, str) else list(attacks)
    if name is not None:
        if not isinstance(name, str):
            raise ParameterError(
                f"an attack is named by a text, and not by {name!r}",
                remedy='sf.attack(release, "repu"), or attacks=["repu", "linkability"]',
            )
        find(name, "attack")  # says which attacks there are
        if named or seconds is not None:
            given = "attacks" if named else "seconds"
            raise ParameterError(
                f"{name} is one attack, and {given} is for all together",
                remedy=f'sf.attack(release, attacks=["{name}"], seconds=600)',
            )
    for one in named:
        _known(one)
    if isinstance(release, Release):
        target = _Target.of_release(release, reference, seed)
    elif isinstance(release, str | Path):
        target = _Target.of_files(Path(release), reference, str(original), plan, align, seed)
    else:
        raise ParameterError(
            f"a {type(release).__name__} is no release",
            remedy="sf.attack(sf.protect(...)), or the folder of a release",
        )
    with listening(progress or silent):
        if name is not None:
            target.check([name])
            return target.measuring.take(measure_of(name, parameters), target.pair)
        if parameters:
            raise ParameterError(
                f"all attacks together take no {', no '.join(parameters)}",
                remedy='name one attack: sf.attack(release, "linkability", neighbours=5)',
            )
        return target.attacked(named, seconds)


def measured(
    release: Path,
    name: str,
    parameters: Mapping[str, Any],
    *,
    original: str = "",
    seed: int = 0,
    progress: Listener | None = None,
) -> Measurement:
    """One measure or attack of a release that was written, by its name, with what its plan and its
    private twin tell."""
    built = measure_of(name, dict(parameters))
    with listening(progress or silent):
        target = _Target.of_files(release, None, original, None, "auto", checked_seed(seed))
        if find(name).kind == "attack":
            target.check([name])
        return target.measuring.take(built, target.pair)


@dataclass(frozen=True, eq=False)
class _Target:
    """What is attacked."""

    pair: Pair
    measuring: Measuring
    notes: tuple[str, ...] = ()
    beside: bool = True
    """Whether there is anything to judge attacks by: others, or a plan that made what is attacked.
    """

    @classmethod
    def of_release(cls, release: Release, reference: Any, seed: int) -> _Target:
        """A release in memory."""
        measuring = release.measured_by(seed)
        if reference is not None:
            if isinstance(reference, str | Path):
                reference = read_input(release.plan, Path(), str(reference))[0]
            others = like_original(reference, release.pair.original)
            measuring = replace(measuring, reference=others, kept={}, taken=[])
        return cls(release.pair, measuring)

    @classmethod
    def of_files(
        cls, masked: Path, reference: Any, original: str, plan: Plan | None, align: str, seed: int
    ) -> _Target:
        """A release's folder, or a masked file, beside its original."""
        data_file(masked)  # says where there is none
        folder = masked.absolute() if masked.is_dir() else masked.absolute().parent
        kept = private_path(folder) / "plan.toml"
        its = kept.is_file() and data_file(folder).absolute() == data_file(masked).absolute()
        own = _kept_plan(kept, folder) if its else None
        if plan is None:
            if own is None and not original:
                raise InputError(
                    f"{masked} has no private twin that tells its plan ({kept} is missing)",
                    remedy="bring the private folder beside it, or name --original and --plan, "
                    "and people who are not in the data by --reference",
                )
            plan = own or Plan()
        if reference is not None and isinstance(plan.input.reference, str):
            # Which is then not looked for.
            plan = plan.with_(input=plan.input.told({"reference": ""}))
        place = original or _original_of(plan, masked)
        found, others = pair_of_files(place, masked, plan, align, {})
        if reference is not None:
            given = reference
            if isinstance(reference, str | Path):
                given = read_input(plan, Path(), str(reference))[0]
            others = like_original(given, found.pair.original)
        rerun, known = again(plan, seed, others), given_by(plan.input.given)
        measuring = Measuring(seed, None, others, plan.mechanism, rerun, known)
        # What a plan does on a half of the people says nothing of a file that it did not make.
        beside = others is not None or (own is not None and own.steps == plan.steps)
        return cls(found.pair, measuring, found.notes, beside)

    def check(self, names: Iterable[str]) -> None:
        """Raise where these attacks, or some of them, have nothing to be judged by."""
        if not self.beside and any(map(_controlled, names)):
            raise InputError(
                "this file was not attacked: it is no release that the plan is known to have made, "
                "and there is nobody outside the data to judge attacks by",
                remedy="--reference FILE with people who are not in the data; where there are "
                "none, hold some out before you mask",
            )

    def attacked(self, named: list[Any], seconds: float | None) -> Evidence:
        """All attacks that apply, those with a control judged together."""
        everything = named or [entry.name for entry in entries("attack")]
        self.check(everything)
        controlled = [one for one in named if _controlled(one)]
        others = [one for one in everything if not _controlled(one)]
        taken, left = self.measuring.panel(
            [build("attack", name, {}) for name in others], self.pair
        )
        notes = self.notes
        if controlled or not named:
            words: dict[str, Any] = {"attacks": controlled}
            if seconds is not None:
                words["seconds"] = seconds
            try:
                whole = self.measuring.take(Withstand.build(words), self.pair)
            except MeasureError as error:
                left[WITHSTAND] = str(error)
            else:
                taken = {WITHSTAND: whole, **whole.private["measurements"], **taken}
                left = {**whole.detail["not_applicable"], **left}
                notes = (*notes, f"attacked was {whole.detail['attacked']}")
        pair = self.pair
        records = {"original": pair.original.height, "published": pair.masked.height}
        return Evidence(taken, left, records=records, notes=notes)


def _known(name: Any) -> None:
    """Raise where there is no attack of this name."""
    try:
        if isinstance(name, str):
            find(name, "attack")
    except UnknownName as error:
        raise ParameterError(f"attacks: {error.message}", remedy=error.remedy) from error


def _controlled(attack: Any) -> bool:
    """Whether an attack is judged beside people who are not in the data."""
    return not isinstance(attack, str) or issubclass(
        find(attack, "attack").load(), ControlledAttack
    )


def _kept_plan(kept: Path, folder: Path) -> Plan:
    """The plan of a private folder. The files that it names lie where those of the plan that was
    run did: beside the release as its input, or else where they are from here."""
    try:
        plan = Plan.parse(kept.read_text(encoding="utf-8"), name=str(kept))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{kept} cannot be read: {error}", remedy="--plan FILE") from None
    beside = folder.absolute().parent

    def placed(name: str) -> str:
        place = Path(name)
        if is_address(name) or place.is_absolute():
            return name
        # A plan that was run from elsewhere names them from there.
        above = place.parent.parts
        near = [beside / place.name] if above and beside.parts[-len(above) :] == above else []
        found = [one for one in (*near, beside / place, place) if one.exists()]
        return str(found[0] if found else beside / place)

    more: dict[str, Any] = {"given": [placed(name) for name in plan.input.given]}
    if isinstance(plan.input.reference, str) and plan.input.reference:
        more["reference"] = placed(plan.input.reference)
    return plan.with_(input=plan.input.told(more))


def _original_of(plan: Plan, folder: Path) -> str:
    """Where the plan of a private folder says the original is."""
    source = source_of(plan, folder.absolute().parent)
    if not Path(source).exists():
        raise InputError(
            f"the original of {folder} is not at {source}, where its plan says",
            remedy="--original FILE",
        )
    return source
