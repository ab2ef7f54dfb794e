"""`Release`: the data, the evidence, and the private half, in memory and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...criteria.classes import equivalence_classes
from ...data.exact import each
from ...data.io import write_file
from ...data.io.source import WRITTEN
from ...data.pair import Pair
from ...data.partition import Partition
from ...data.people.keys import identifying, person_keys
from ...data.schema import SUPPRESSED
from ...data.table import Table
from ...errors import MeasureError, OutputError, ParameterError, ReleaseRefused
from ...measurement import Rounding
from ...progress import report
from ...protocols import Again, Criterion, Measurement
from ...rng import checked_seed
from ...texts import json_text
from ..digests import DIGESTS, digests
from ..given.earlier import LINKS, given_by, links
from ..given.joining import joined_again
from ..landing import Landing
from ..ledger.publication import Standing
from ..plan.plan import Plan
from ..plan.step import measure_of
from ..publish import publish
from ..recount import written_pairs
from ..report.page import version
from ..report.report import render
from ..saving import saving
from ..seeds import allowed
from .again import again
from .evidence import RANDOMNESS, Evidence, Measuring, panel_of
from .judging import judge, worst
from .public import public_face
from .recording import publication
from .stages import Stage, Stages
from .written import as_precise

PARTS = "parts"
DATA_NAMES = {
    **{format: f"data.{format}" for format in WRITTEN},
    PARTS: "data/part-00000.parquet",
}


@dataclass(frozen=True, eq=False)
class Private:
    """What arms an attacker, and therefore stays with the owner. Its repr shows nothing."""

    seed: int = field(repr=False)
    secrets: Mapping[str, Any] = field(repr=False)
    lineage: Mapping[str, np.ndarray] = field(repr=False)
    plan: Plan = field(repr=False)
    input_rows: np.ndarray | None = field(default=None, repr=False)
    """Which rows of the input were masked, where others were held out."""


@dataclass(frozen=True, eq=False)
class Release:
    """A masked table that kept its promises."""

    pair: Pair = field(repr=False)
    evidence: Evidence
    private: Private = field(repr=False)
    plan: Plan = field(repr=False)
    partition: Partition | None = field(default=None, repr=False)
    """The groups of the last step that made any, in the order of the published records."""
    groups: Partition | None = field(default=None, repr=False)
    """Of perturbed records; None where what is published tells which records look alike."""
    reference: Table | None = field(default=None, repr=False)
    copies: tuple[Table, ...] = field(default=(), repr=False)
    """Further releases of the same records, by multiple imputation."""
    rounding: Rounding | None = field(default=None, repr=False)
    """Of the public face: how what is counted on the original is rounded."""
    stages: tuple[Stage, ...] = field(default=(), repr=False)
    reruns: dict[int, Again | None] = field(default_factory=dict, repr=False)
    """By the seed of who measures: what runs the plan on other people."""

    def with_note(self, note: str) -> Release:
        """The same with one more sentence in its evidence."""
        return replace(self, evidence=replace(self.evidence, notes=(*self.evidence.notes, note)))

    @property
    def table(self) -> Table:
        """The masked table."""
        return self.pair.masked

    @property
    def data(self) -> Any:
        """The masked data as the kind of object that came in; a tuple where there are several."""
        if self.copies:
            return tuple(table.to_frame() for table in self.tables)
        return self.pair.masked.to_frame()

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table that is published."""
        return (self.pair.masked, *self.copies)

    @property
    def steps(self) -> Stages:
        """What every step made of the records: `release.steps[0]`, `release.steps["mdav"].data`.

        They are the owner's and never written. After the last, columns that name people are
        dropped, classes joined beside earlier releases, and records shuffled.
        """
        if len(self.stages) != len(self.plan.steps):
            raise ParameterError(
                "nothing is kept here of what came between the steps",
                remedy="the release that sf.protect gave has it; its public face has not",
            )
        return Stages(self.stages)

    def measure(self, name: Any, *, seed: int = 0, **parameters: Any) -> Measurement:
        """One measure or attack of this release, with what its publication tells everybody:
        `release.measure("dbrl", scenarios=7)`, or what a function of a frame loses."""
        built = measure_of(name, parameters)
        return self.measured_by(checked_seed(seed)).take(built, self.pair)

    def measured_by(self, seed: int) -> Measuring:
        """What takes measures of this release."""
        if seed not in self.reruns:
            self.reruns[seed] = again(self.plan, seed, self.reference)
        rerun, given = self.reruns[seed], given_by(self.plan.input.given)
        return Measuring(seed, self.groups, self.reference, self.plan.mechanism, rerun, given)

    def mapping(self) -> pl.DataFrame:
        """Which value of each quasi-identifier was published as what, how often; for the owner."""
        return mapping(self.pair)

    def save(
        self,
        path: str | Path | None = None,
        *,
        replace: bool = False,
        ledger_exception: str = "",
        allow_guessable_seed: bool = False,
    ) -> Path:
        """Write the public folder and its private twin, whole or not at all.

        Every requirement is counted again on the bytes, and a release that breaks one is not
        written; nor is one about people of whom the ledger beside it knows an earlier release,
        unless it was judged beside that (`given`) or `ledger_exception` says why not; nor one with
        a seed below 2^64, unless `allow_guessable_seed` says that its people do not exist.
        """
        target = path or self.plan.output.path
        plan = allowed(self.plan, self.private.seed, allow_guessable_seed)
        made = self._planned(plan.excepted(ledger_exception) if ledger_exception else plan)
        told = publication(made.pair, made.plan, made.evidence.steps, target)
        recounted: list[Release] = []
        precise = made._as_precise()
        landing = Landing.of(made.plan)

        def write_public(folder: Path) -> None:
            standing = told.standing()
            files = precise._write_data(folder)
            if landing is not None:
                files = [landing.fill(folder / "data", folder.parent / "table") / files[0].name]
            noted = precise._recounted(files)._landed(landing)
            recounted.append(noted.with_standing(standing))
            recounted[0]._write_public(folder)

        with saving(target):
            return publish(
                target,
                write_public,
                lambda folder: recounted[0]._write_private(folder),
                replace=replace,
                recording=lambda folder: told.recorded(folder, recounted[0].evidence.ledger),
                landing=landing,
            )

    def draft(self, folder: Path, target: str | Path) -> Release:
        """Write what `save` would write to `target`, counted again on the bytes, as `release` and
        its private twin into a folder that is the owner's alone. Nothing is published: no ledger is
        told, and no table of a database made."""
        plan = allowed(self.plan, self.private.seed)
        made = self._planned(plan)
        told = publication(made.pair, made.plan, made.evidence.steps, target)
        precise = made._as_precise()
        public, private = folder / "release", folder / "release.private"
        with saving(public):
            for half in (public, private):
                half.mkdir(mode=0o700)
            noted = precise._recounted(precise._write_data(public))
            noted = noted.with_standing(told.standing())
            noted._write_public(public)
            noted._write_private(private)
        return noted

    def with_standing(self, standing: Standing) -> Release:
        """The same with how it stands to earlier releases in its evidence."""
        return replace(self, evidence=replace(self.evidence, ledger=standing))

    def _landed(self, landing: Landing | None) -> Release:
        """The same with the table that holds its records in its evidence."""
        if landing is None:
            return self
        noted = self.with_note(f"the records are the table {landing.title}")
        return replace(noted, evidence=replace(noted.evidence, table=landing.told))

    def _planned(self, plan: Plan) -> Release:
        """The same by a plan that says more of its output."""
        return replace(self, plan=plan, private=replace(self.private, plan=plan))

    def _as_precise(self) -> Release:
        """The same with numbers as precise as the original's, and what was measured of these."""
        if self.plan.output.precision == "full":
            return self
        made = [as_precise(table, self.pair.original) for table in self.tables]
        if not any(one.columns for one in made):
            return self
        pair = Pair(self.pair.original, made[0].table, self.pair.rows)
        panel = [m for m in panel_of(self.plan) if m.name in self.evidence]
        taken, left = self.measured_by(self.private.seed).panel(panel, pair)
        names = dict.fromkeys(name for one in made for name in one.columns)
        evidence = replace(
            self.evidence,
            measurements={**self.evidence.measurements, **taken},
            not_taken={**self.evidence.not_taken, **left},
            notes=(*self.evidence.notes, f"rounded as the original is: {', '.join(names)}"),
        )
        copies = tuple(one.table for one in made[1:])
        return replace(self, pair=pair, evidence=evidence, copies=copies)

    def _write_data(self, folder: Path) -> list[Path]:
        """Every table that is published, as a file."""
        output = self.plan.output
        lone = self.table.frame.to_series() if self.table.frame.width == 1 else None
        if lone is not None and lone.null_count() and output.format in ("csv", "tsv"):
            raise OutputError(
                "many readers skip empty lines, and so the missing values of a lone column",
                remedy='[output] format = "parquet"',
            )
        files = [folder / name for name in self._data_names()]
        if output.format == PARTS:
            files[0].parent.mkdir()
        report("writing", 0, 4)
        for table, data in zip(self.tables, files, strict=True):
            write_file(
                table,
                data,
                data.suffix.removeprefix("."),
                suppressed=output.suppressed,
                escape_formulas=output.escape_formulas,
            )
        return files

    def _data_names(self) -> list[str]:
        """The files of the data, below the release's folder."""
        name = Path(DATA_NAMES[self.plan.output.format])
        if not self.copies:
            return [str(name)]
        if self.plan.output.format == PARTS:
            raise OutputError(
                f"{len(self.tables)} releases of the same records are files side by side",
                remedy='[output] format = "parquet"',
            )
        return [f"{name.stem}-{i + 1}{name.suffix}" for i in range(len(self.tables))]

    def _recounted(self, files: list[Path]) -> Release:
        """The same with every requirement counted on the files; refused where one breaks."""
        report("counting again", 1, 4)
        output = self.plan.output
        pairs = written_pairs(
            files,
            self.pair,
            suppressed=output.suppressed,
            escape_formulas=output.escape_formulas,
        )
        # Afresh, so that nothing known from before the file was written counts.
        counted = partial(judge, pairs=pairs, measuring=self.measured_by(self.private.seed))
        try:
            findings = counted(self.plan.requirements)
        except MeasureError:
            # What was written cannot be measured: a broken promise tells more than that.
            findings = counted(r for r in self.plan.requirements if isinstance(r.thing, Criterion))
            if all(finding.met for finding in findings):
                raise
        if self.plan.input.given:
            beside = [joined_again(self.plan, pair) for pair in pairs]
            findings += [worst(list(found)) for found in zip(*beside, strict=True)]
        if not all(finding.met for finding in findings):
            raise ReleaseRefused(findings)
        evidence = replace(self.evidence, findings=tuple(findings), recounted=True)
        return replace(self, evidence=evidence)

    def public(self) -> Release:
        """The release as everybody may see it: what it hides is neither in the original that its
        report draws nor in any figure, and figures that depend on the original are rounded."""
        measuring = self.measured_by(self.private.seed)
        face = public_face(self.plan, self.pair, self.evidence, measuring)
        return replace(
            self, pair=face.pair, evidence=face.evidence, rounding=face.rounding, stages=()
        )

    def _write_public(self, folder: Path) -> None:
        public = self.public()
        _write_text(folder / "report.html", render(public, owner=False))
        heads = {**_heads(), "suppressed": self.plan.output.suppressed}
        told = {**heads, **public.evidence.to_dict(), DIGESTS: digests(folder)}
        _write_json(folder / "evidence.json", told)

    def _write_private(self, folder: Path) -> None:
        notes: dict[str, Any] = {"sfumato": version(), "seed": self.private.seed}
        if self.pair.rows is not None and (known := identifying(self.pair.original)):
            notes["people"] = known
            notes["several"] = bool(
                self.pair.original.frame.select(each(known)).is_duplicated().any()
            )
            keys = person_keys(self.pair.original, notes["people"], self.private.seed)
            people = keys.gather(self.pair.rows).to_frame()
            people.write_parquet(folder / "people.parquet")
            if self.plan.input.given:
                links(self.plan.input.given, self.pair).write_parquet(folder / LINKS)
        self._write_secrets(folder, notes)
        self._write_alignment(folder / "alignment.parquet")
        if (kept := self.private.input_rows) is not None:
            pl.DataFrame({"original_row": kept}).write_parquet(folder / "participants.parquet")
        if self._generalizes():
            self.mapping().write_csv(folder / "mapping.csv")
        if self.private.lineage:
            pl.DataFrame(dict(self.private.lineage)).write_parquet(folder / "lineage.parquet")
        for side, name in (("masked", "published"), ("original", "original")):
            vectors = {
                measure: m.per_record
                for measure, m in self.evidence.measurements.items()
                if m.per_record is not None and m.per_record_of == side
            }
            if vectors:
                pl.DataFrame(vectors).write_parquet(folder / f"risk-{name}.parquet")
        self._write_owner(folder)

    def _write_secrets(self, folder: Path, notes: Mapping[str, Any]) -> None:
        """What repeats the release: its seed, plan and keys."""
        _write_json(folder / "seed.json", notes)
        _write_text(folder / "plan.toml", self.private.plan.to_toml())
        if self.private.secrets:
            _write_json(folder / "keys.json", dict(self.private.secrets))

    def _write_owner(self, folder: Path) -> None:
        """All figures as they are."""
        report("the owner's report", 3, 4)
        notes_of_both = (*self.evidence.notes, *self.evidence.owner_notes)
        owners = replace(self, evidence=replace(self.evidence, notes=notes_of_both))
        # Unrounded, unlike the public evidence: for `sfumato compare`.
        _write_json(folder / "figures.json", {**_heads(), **owners.evidence.to_dict()})
        _write_text(folder / "report.html", render(owners, owner=True))

    def _generalizes(self) -> bool:
        """Whether values became labels or were suppressed, so that there is a mapping to tell."""
        table = self.table
        return self.pair.rows is not None and any(
            table.schema[name].generalized or table.suppressed(name).any()
            for name in table.schema.quasi
            if name in self.pair.original.schema
        )

    def _write_alignment(self, path: Path) -> None:
        """Which input row became which record, where records stem from rows at all."""
        rows, kept = self.pair.rows, self.private.input_rows
        if rows is None:
            return
        original = rows if kept is None else kept[rows]
        alignment = pl.DataFrame({"published_row": np.arange(rows.size), "original_row": original})
        alignment.write_parquet(path)

    def __repr__(self) -> str:
        met = len(self.evidence.findings)
        promise = f"{met} requirement{'' if met == 1 else 's'} met" if met else "nothing required"
        return f"Release({self.table.height:,} records, {promise}; {self.evidence!r})"

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + self.evidence._repr_html_()


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _heads() -> dict[str, Any]:
    """By what a release was made."""
    return {"sfumato": version(), "randomness": RANDOMNESS}


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    # JSON has no infinity, and a figure that is one is a fault to be seen, not to be written.
    plain = json_text(content, indent=2, default=_plain, allow_nan=False)
    _write_text(path, plain + "\n")


def _plain(value: Any) -> Any:
    """Numpy scalars and arrays as JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)


def mapping(pair: Pair) -> pl.DataFrame:
    """One row for each column, original value and published value that occurs.

    `records` have it, in `classes` equivalence classes. In a global recoding every value has one
    row; in a local one, as many as there are ways in which it was published. "*" is suppressed, and
    null was missing. It tells an intruder what he must not know: it is for the owner.
    """
    if pair.rows is None:
        raise MeasureError(
            "the records of this release are no one person's, so that no value became another",
            remedy="compare the distributions instead",
        )
    number = equivalence_classes(pair.masked).labels
    parts = []
    for name in pair.masked.names:
        if name not in pair.original.schema or name not in pair.original.schema.quasi:
            continue
        shown = _text(pair.masked[name])
        hidden = pl.Series(pair.masked.suppressed(name))
        before = _text(pair.original[name]).gather(pl.Series(pair.rows))
        frame = pl.DataFrame(
            {
                "value": before,
                "published": pl.select(
                    pl.when(hidden).then(pl.lit(SUPPRESSED)).otherwise(shown)
                ).to_series(),
                "class": number,
            }
        )
        counted = frame.group_by("value", "published").agg(
            pl.len().cast(pl.Int64).alias("records"),
            pl.col("class").n_unique().cast(pl.Int64).alias("classes"),
        )
        parts.append(
            counted.sort("value", "published").select(pl.lit(name).alias("column"), pl.all())
        )
    if not parts:
        raise MeasureError("no quasi-identifier was published", remedy="there is no mapping")
    return pl.concat(parts)


def _text(series: pl.Series) -> pl.Series:
    """Values as text; a set as its elements with blanks between."""
    if isinstance(series.dtype, pl.List | pl.Array):
        if isinstance(series.dtype, pl.Array):
            series = series.arr.to_list()
        return series.cast(pl.List(pl.String)).list.unique().list.sort().list.join(" ")
    return series.cast(pl.String, strict=False)
