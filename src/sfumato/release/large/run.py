"""A plan run where the data are: from a folder of pieces to a release, or nothing.

All of it happens beside the release, in the hidden folder that `publish` makes: what the engine
writes aside lies there unless the plan names another place, so that it is gone with that folder,
whether the release appears, is refused or is interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...engines.relation import Relation
from ...errors import Complaint, InputError, OutputError, PlanError, ReleaseRefused
from ...measurement import SAMPLED
from ...progress import Listener, listening, silent
from ...protocols import Criterion, Finding, Measure
from ...rng import draw_seed
from ..landing import Landing
from ..ledger.publication import RECORDS, Publication
from ..plan.plan import Plan
from ..plan.requirement import Requirement
from ..publish import publish
from ..records.checks import check_classes, check_gate, check_plan, check_promises, check_roles
from ..records.evidence import Evidence, panel_of
from ..records.randomness import BY_LEDGER, Bits, shuffle_bits
from ..records.recording import columns_made
from ..records.release import Private
from ..records.run import as_plan, beside, gated, public_columns, reading_of
from ..records.written import output_notes
from ..saving import saving
from ..seeds import allowed, checked_or_told, guessable
from .gaps import check_gaps
from .laying import laid
from .masking import Made, run_steps_on
from .measuring import OnAll, no_groups, sample_of
from .people import drawn_by_person, people_of, repeated_person, whose
from .printing import in_form
from .recounting import recounted
from .release import LargeRelease, Sampled
from .writing import ALIGNMENT, written


def protect_large(
    source: str | Path,
    plan: Any,
    seed: int | None = None,
    *,
    require: Mapping[str, Any] | Iterable[Requirement] = (),
    measures: Iterable[Measure] | None = None,
    reference: Any = None,
    given: str | Path | Iterable[str | Path] = (),
    output: str | Path = "",
    replace: bool = False,
    allow_guessable_seed: bool = False,
    progress: Listener | None = None,
) -> LargeRelease:
    """Run a plan by its engine and publish the release at `output`, or raise `ReleaseRefused` and
    write nothing. `source` is a folder of Parquet or CSV files, a file or a database. A seed below
    2^64 is refused before the first step, unless `allow_guessable_seed` says that it is meant."""
    plan = beside(as_plan(plan, require, measures), given)
    if reference is not None:
        plan = plan.with_(input=plan.input.model_copy(update={"reference": str(reference)}))
    check_plan(plan)
    target = output or plan.output.path
    if not target:
        raise OutputError(
            f"the engine {plan.engine.name} writes its release at once, and nothing says where",
            remedy='output="release", or [output] path',
        )
    landing = Landing.of(plan)
    notes: list[str] = []
    seed = draw_seed() if seed is None else checked_or_told(seed, notes)
    plan = allowed(plan, seed, allow_guessable_seed)
    run = _Run(str(source), gated(plan), seed, Path(os.path.abspath(target)), tuple(notes),
               progress or silent, landing)  # fmt: skip
    with saving(target, aside=True), ExitStack() as until_published:
        publish(
            target,
            lambda folder: run.write_public(folder, until_published),
            run.write_private,
            replace=replace,
            recording=run.recording,
            landing=landing,
        )
    assert run.face is not None
    return LargeRelease(Path(target), run.face.evidence, plan)


@dataclass(eq=False)
class _Run:
    """One release on its way."""

    source: str
    plan: Plan
    seed: int
    target: Path
    owner_notes: tuple[str, ...]
    tell: Listener
    landing: Landing | None = None
    face: Sampled | None = None
    publication: Publication | None = field(default=None)
    person: str | None = None
    """By which people have several records."""

    def write_public(self, folder: Path, until_published: ExitStack) -> None:
        """Everything that everybody may see, in this folder; a refused release raises."""
        aside = folder.parent
        self._stage("opening", 0)
        with listening(self.tell):
            data = until_published.enter_context(self._opened(aside))
            original = self._checked(data)
            if self.landing is not None:
                self.landing.opened(original, aside)
            known = drawn_by_person(original, self.plan, self.seed, self.target)
            if known is not None:
                self.owner_notes = (*self.owner_notes, BY_LEDGER)
            made = run_steps_on(original, self.plan, self.seed, self.tell, known)
            check_classes(self.plan, perturbed=made.perturbed, overlapping=made.overlapping)
            masked, rounded = in_form(made.data, original, self.plan.output)
            self.publication = self._publication(original, masked, made)
            standing = self.publication.standing()
            self._stage("writing", 1)
            order = None
            if self.plan.output.shuffle:
                order = shuffle_bits(self.seed, self.plan.steps, original.schema, made.data)
            promised = self._written(original, masked, folder, order)
            self._stage("measuring", 3)
            self.face = self._face(original, masked, made, promised, rounded)
            self.face = self.face.with_evidence(replace(self.face.evidence, ledger=standing))
            self.face.write_public(folder)

    def _written(
        self, original: Relation, masked: Relation, folder: Path, order: Bits | None
    ) -> list[Finding]:
        """The records in the folder, and what is counted on them there."""
        aside, person = folder.parent, self.person
        people = None if person is None else whose(original, person)
        file = written(masked, self.plan.output, order, folder, aside, people, person or "")
        if self.landing is not None:
            file = self.landing.fill(file, aside / "table")
        self._stage("counting again", 2)
        told = None if person is None else aside / ALIGNMENT
        return recounted(file, masked.schema, self.plan, aside, told, person or "")

    def _stage(self, what: str, place: int) -> None:
        self.tell(what, len(self.plan.steps) + place, len(self.plan.steps) + 4)

    def _opened(self, aside: Path) -> AbstractContextManager[Relation]:
        work = aside / "work"
        work.mkdir(mode=0o700)
        engine = self.plan.engine.beside(work)
        return engine.opened(self.source, reading_of(self.plan))

    def _checked(self, data: Relation) -> Relation:
        """The records with the plan's roles, once it is known that the plan can be run on them."""
        original = laid(data, self.plan)
        if not original.height:
            raise InputError(f"{self.source} holds no records", remedy="name another input")
        check_gaps(self.plan, original.schema)
        if original.schema.of_role("undecided"):
            check_roles(sample_of(original, original, self.seed).original)
        self.person = repeated_person(original)
        in_order = self.landing is None or self.landing.in_order
        if self.person is not None and not (self.plan.output.format == "parts" and in_order):
            what = f"people have several records (by {self.person}), who are counted on parts"
            where, remedy = "format" if in_order else "table", '[output] format = "parts"'
            raise PlanError("the plan", [Complaint(f"[output] {where}", what, remedy)])
        check_gate(self.plan, original.empty)
        check_promises(self.plan, original.empty)
        return original

    def _publication(self, original: Relation, masked: Relation, made: Made) -> Publication:
        columns, drawn = columns_made(masked.schema.names, self.plan, made.work.steps)
        people, nameless = people_of(original, masked)
        return Publication(
            RECORDS, self.target, self.plan, columns, drawn, people, nameless=nameless
        )

    def _face(
        self,
        original: Relation,
        masked: Relation,
        made: Made,
        promised: list[Finding],
        rounded: list[str],
    ) -> Sampled:
        """The sample that the report draws, with the evidence of all records; refused where a
        requirement is not met."""
        pair = sample_of(original, masked, self.seed)
        groups = no_groups(pair) if made.perturbed else None
        measuring = OnAll(
            self.seed, groups, None, self.plan.mechanism, original=original, masked=masked
        )
        counted = iter(promised)
        findings = [
            next(counted)
            if isinstance(asked.thing, Criterion)
            else asked.judge(measuring.take(asked.thing, pair))
            for asked in self.plan.requirements
        ]
        if not all(finding.met for finding in findings):
            raise ReleaseRefused(findings)
        taken, left = measuring.panel(panel_of(self.plan), pair)
        notes = [*made.work.notes, *output_notes(self.plan.output, pair.masked)]
        if self.landing is not None:
            notes.append(f"the records are the table {self.landing.title}")
        if rounded:
            notes.append(f"rounded as the original is: {', '.join(rounded)}")
        sampled = pair.original.height
        if sampled < original.height:
            notes.append(
                f"figures that are not counted on all records are those of {sampled:,} records "
                "that were drawn at random, and so are the pictures"
            )
        evidence = Evidence(
            measurements=taken,
            not_taken=left,
            findings=tuple(findings),
            recounted=True,
            steps=tuple(made.work.steps),
            records={
                "original": original.height,
                "published": masked.height,
                **({SAMPLED: sampled} if sampled < original.height else {}),
            },
            columns=public_columns(original.schema, masked.schema),
            notes=tuple(notes),
            owner_notes=self.owner_notes,
            table={} if self.landing is None else self.landing.told,
            guessable_seed=guessable(self.seed),
        )
        private = Private(self.seed, made.work.secrets, {}, self.plan)
        return Sampled(pair, evidence, private, self.plan, groups=groups, measuring=measuring)

    def write_private(self, folder: Path) -> None:
        """What only the owner may see."""
        assert self.face is not None
        os.rename(folder.parent / ALIGNMENT, folder / ALIGNMENT)
        self.face.write_private(folder)

    def recording(self, public: Path) -> AbstractContextManager[None]:
        """The release's entry in the ledger, held while the folders appear."""
        assert self.publication is not None
        assert self.face is not None
        return self.publication.recorded(public, self.face.evidence.ledger)
