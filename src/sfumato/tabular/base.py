"""The shapes of things for tables: rules that find sensitive cells, and methods that protect them.

Each is a frozen declaration, registered by name as everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, PlainSerializer

from ..declaration import Declaration
from ..nested import SCHEMA, found, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from ..kernels.arrays import Bools, Floats
    from ..measurement import Finding
    from .audit.audit import Audit
    from .cells.table import CellTable
    from .outcome import TableOutcome
    from .threats.problem import Problem


@dataclass(frozen=True, eq=False)
class Judged:
    """Which cells a rule finds sensitive, and how much room each needs above and below."""

    sensitive: Bools
    up: Floats
    """How far above its value the attacker must find a cell possible; 0 where not sensitive."""
    down: Floats


class Rule(Declaration, ABC):
    """Finds the sensitive cells of a table."""

    registry_kind: ClassVar[str] = "rule"

    @abstractmethod
    def judge(self, table: CellTable) -> Judged:
        """The sensitive cells and their protection needs."""


class TableMethod(Declaration, ABC):
    """Protects a table whose sensitive cells are known."""

    registry_kind: ClassVar[str] = "table-method"
    random: ClassVar[bool] = False
    """Whether its result depends on the seed."""
    keeps_totals: ClassVar[bool] = True
    """Whether what it publishes still adds up."""
    shows: ClassVar[str] = "cells are hidden"
    """What readers find in place of the numbers that must not be known."""
    inverts: ClassVar[bool] = False
    """Whether the audit inverts it, and so follows every interval to its ends."""

    def asked(self, table: CellTable, problem: Problem) -> Problem:
        """The problem that has to be solved for what this method publishes."""
        return problem

    @abstractmethod
    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        """The protected table. The input is never modified."""

    def stronger(self) -> dict[str, Any]:
        """Parameters that protect more, to try where the audit refuses its table."""
        return {}

    def extend(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, rng: np.random.Generator
    ) -> TableOutcome:
        """A protection that meets threats which were added since `outcome` was made."""
        return self.protect(table, problem, rng)

    def told(
        self, table: CellTable, problem: Problem, solved: Problem, outcome: TableOutcome
    ) -> tuple[Problem, TableOutcome]:
        """What is published of a protected table, and what the audit has to show of it. `solved`
        is what was asked, and every insider that was added to it."""
        return solved, outcome

    def audited(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, audit: Audit
    ) -> Audit:
        """The audit as it is to be judged: of what a reader concludes who knows the method."""
        return audit

    def judged(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, audit: Audit
    ) -> Sequence[Finding]:
        """What must hold before the table is published: that no attacker's interval is too
        narrow, unless the method promises something else."""
        return audit.findings(table)

    def summary(self, audit: Audit, *, public: bool = False) -> str:
        """What the audit found, in words."""
        return audit.summary(public=public)


CellRule = Annotated[
    Rule, BeforeValidator(lambda given: found("rule", given)), PlainSerializer(words), SCHEMA
]
"""A rule, by name, as a table `{ use = "p-percent", p = 10 }` or as an instance."""

Protection = Annotated[
    TableMethod,
    BeforeValidator(lambda given: found("table-method", given)),
    PlainSerializer(words),
    SCHEMA,
]
"""A method for tables, by name, as a table or as an instance."""
