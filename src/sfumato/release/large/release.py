"""`LargeRelease`: what was published where the records are too many for memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from ...errors import ParameterError
from ..plan.plan import Plan
from ..records.evidence import Evidence, Measuring
from ..records.release import Release
from ..report.page import version
from .measuring import OnAll


@dataclass(frozen=True, eq=False)
class Sampled(Release):
    """A release of which a sample of records is at hand; its evidence is that of all."""

    measuring: OnAll | None = field(default=None, repr=False)

    def measured_by(self, seed: int) -> Measuring:
        assert self.measuring is not None
        return self.measuring.public()

    def write_public(self, folder: Path) -> None:
        """The evidence and the report for everybody."""
        self._write_public(folder)

    def write_private(self, folder: Path) -> None:
        """What repeats and explains the release, for the owner."""
        self._write_secrets(folder, {"sfumato": version(), "seed": self.private.seed})
        self._write_owner(folder)

    def with_evidence(self, evidence: Evidence) -> Sampled:
        """The same with other evidence."""
        return replace(self, evidence=evidence)


@dataclass(frozen=True, eq=False)
class LargeRelease:
    """A release that kept its promises and is written: its folder, and what is known of it."""

    path: Path
    evidence: Evidence
    plan: Plan = field(repr=False)

    @property
    def records(self) -> int:
        """How many were published."""
        return self.evidence.records["published"]

    @property
    def steps(self) -> NoReturn:
        """Records between steps are kept in memory only, and these do not fit."""
        raise ParameterError(
            f"the engine {self.plan.engine.name} keeps no records between steps",
            remedy='sf.protect(some_of_them, release.plan, engine="local").steps; '
            "release.evidence.steps says what each step did to all",
        )

    def __repr__(self) -> str:
        return f"LargeRelease({self.records:,} records in {self.path}; {self.evidence!r})"

    def _repr_html_(self) -> str:
        return self.evidence._repr_html_()
