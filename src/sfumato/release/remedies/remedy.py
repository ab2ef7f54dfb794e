"""A remedy: a changed plan that was run, and what it gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...protocols import Finding
from ..plan.plan import Plan


@dataclass(frozen=True)
class Hint:
    """What would help, in words, where no plan was tried."""

    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"change": self.text}


@dataclass(frozen=True)
class Remedy:
    """One change to a plan that meets every requirement, with the figures that it gave."""

    change: str
    """What changes, in the words of the plan file."""
    plan: Plan
    findings: tuple[Finding, ...]
    loss: float | None = None
    """What it loses of the columns that the refused plan would publish (`marginals`)."""
    weaker: bool = False
    """Whether it asks for less than the refused plan did."""

    def __str__(self) -> str:
        figures = [f"{f.subject} {f.value:.4g}" for f in self.findings]
        if self.loss is not None:
            figures.append(f"loss {self.loss:.3f}")
        asks = "a weaker limit (more risk, or loss): " if self.weaker else ""
        return f"{asks + self.change:<44} (estimated {', '.join(figures)})"

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        found: dict[str, Any] = {
            "change": self.change,
            "weaker": self.weaker,
            "plan": self.plan.to_toml(show_secrets=False),
            "estimated": [finding.to_dict() for finding in self.findings],
        }
        if self.loss is not None:
            found["loss"] = self.loss
        return found
