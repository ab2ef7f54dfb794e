"""Attacking a release: one attack, or all that apply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

from ..attacks.controlled import ControlledAttack
from ..attacks.withstand import Withstand
from ..data.linkage.earlier import data_file
from ..data.linkage.like import like_original
from ..data.pair import Pair
from ..errors import InputError, MeasureError, ParameterError
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
            find(name, "attack")  # says which attacks there are
            return target.measuring.take(measure_of(name, parameters), target.pair)
        if parameters:
            raise ParameterError(
                f"all attacks together take no {', no '.join(parameters)}",
                remedy='name one attack: sf.attack(release, "linkability", neighbours=5)',
            )
        named = [attacks] if isinstance(attacks, str) else list(attacks)
        return target.attacked(named, seconds)


@dataclass(frozen=True, eq=False)
class _Target:
    """What is attacked."""

    pair: Pair
    measuring: Measuring
    notes: tuple[str, ...] = ()

    @classmethod
    def of_release(cls, release: Release, reference: Any, seed: int) -> _Target:
        """A release in memory."""
        measuring = release.measured_by(seed)
        if reference is not None:
            others = like_original(reference, release.pair.original)
            measuring = replace(measuring, reference=others, kept={}, taken=[])
        return cls(release.pair, measuring)

    @classmethod
    def of_files(
        cls, masked: Path, reference: Any, original: str, plan: Plan | None, align: str, seed: int
    ) -> _Target:
        """A release's folder, or a masked file, beside its original."""
        data_file(masked)  # says where there is none
        if plan is None:
            kept = private_path(masked.absolute()) / "plan.toml"
            if not kept.is_file() and not original:
                raise InputError(
                    f"{masked} has no private twin that tells its plan ({kept} is missing)",
                    remedy="bring the private folder beside it, or name --original and --plan",
                )
            plan = Plan.read(kept) if kept.is_file() else Plan()
        place = original or _original_of(plan, masked)
        found, others = pair_of_files(place, masked, plan, align, {})
        if reference is not None:
            given = reference
            if isinstance(reference, str | Path):
                given = read_input(plan, Path(), str(reference))[0]
            others = like_original(given, found.pair.original)
        rerun, known = again(plan, seed, others), given_by(plan.input.given)
        measuring = Measuring(seed, None, others, plan.mechanism, rerun, known)
        return cls(found.pair, measuring, found.notes)

    def attacked(self, named: list[Any], seconds: float | None) -> Evidence:
        """All attacks that apply, those with a control judged together."""
        kinds = {
            entry.name: issubclass(entry.load(), ControlledAttack) for entry in entries("attack")
        }
        controlled = [one for one in named if kinds.get(one, True)]
        others = [one for one in (named or kinds) if not kinds.get(one, True)]
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


def _original_of(plan: Plan, folder: Path) -> str:
    """Where the plan of a private folder says the original is."""
    source = source_of(plan, folder.absolute().parent)
    if not Path(source).exists():
        raise InputError(
            f"the original of {folder} is not at {source}, where its plan says",
            remedy="--original FILE",
        )
    return source
