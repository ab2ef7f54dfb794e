"""What to do with columns that name a person: drop them, or replace them by a pseudonym."""

from __future__ import annotations

import hashlib
import hmac
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.schema import Kind
from ...data.table import Table
from ...errors import MethodError
from ...protocols import Method, Outcome

_BASE32 = "abcdefghijkmnpqrstuvwxyz23456789"


class Drop(Method):
    """Remove identifying columns."""

    name: ClassVar[str] = "drop"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    regroups: ClassVar[bool] = True
    handles_identifiers: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = ("identifier",)
    paper: ClassVar[str] = "HIPAA Privacy Rule, 45 CFR 164.514(b)(2)"

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        # Nothing to drop is no fault: whether people are named is for others to judge.
        if not self.named() and not table.schema.of_role(*self.roles):
            return [], []
        return super().targets(table)

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        warnings = () if chosen else ("there was no identifier to drop",)
        return Outcome(table.without(chosen), facts={"dropped": chosen}, warnings=warnings)


class _Replace(Method):
    """What hashing and pseudonymizing share: equal values get equal replacements, missing stays
    missing."""

    perturbs: ClassVar[bool | None] = False
    roles: ClassVar[tuple[str, ...]] = ("identifier",)
    handles_identifiers: ClassVar[bool] = True

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        series, columns = [], []
        private: dict[str, Any] = {}
        for name in chosen:
            text = _as_text(table[name])
            distinct = text.drop_nulls().unique().sort()
            replacements, secret = self.replacements(distinct.to_list(), rng)
            private[name] = secret
            mapped = text.replace_strict(
                distinct, pl.Series(replacements, dtype=pl.String), return_dtype=pl.String
            )
            series.append(mapped.alias(name))
            columns.append(table.schema[name].with_(kind=Kind.TEXT, categories=(), poset=None))
        return Outcome(
            table.with_columns(series, columns), facts={"replaced": chosen}, secrets=private
        )

    @abstractmethod
    def replacements(self, values: list[str], rng: np.random.Generator) -> tuple[list[str], Any]:
        """One replacement for each distinct value, and what must stay private."""


class Hash(_Replace):
    """Replace identifiers by a keyed hash (HMAC-SHA256).

    The key stays in the private face: without it nobody can hash a list of names and compare.
    Use the same key for two releases to let them be joined.
    """

    name: ClassVar[str] = "hash"
    paper: ClassVar[str] = "RFC 2104 (HMAC)"

    length: int = Field(32, ge=8, le=64, description="hexadecimal digits to keep")
    key: str = Field(
        "",
        description="hexadecimal key of at least 16 bytes; a fresh one is drawn unless given",
        pattern=r"^([0-9a-fA-F]{32,})?$",
        json_schema_extra={"secret": True},
        repr=False,
    )

    def replacements(self, values: list[str], rng: np.random.Generator) -> tuple[list[str], Any]:
        key = bytes.fromhex(self.key) if self.key else rng.bytes(32)
        digests = [hmac.new(key, v.encode(), hashlib.sha256).hexdigest() for v in values]
        short = [digest[: self.length] for digest in digests]
        if len(set(short)) < len(short):
            raise MethodError(
                f"two identifiers share their first {self.length} digits",
                remedy=f"length = {min(64, 2 * self.length)}",
            )
        return short, {"key": key.hex()}


class Pseudonymize(_Replace):
    """Replace identifiers by short random pseudonyms.

    The table that leads back stays in the private face.
    """

    name: ClassVar[str] = "pseudonymize"
    paper: ClassVar[str] = "ISO 25237:2017"

    prefix: str = Field("", description="text before each pseudonym")

    def replacements(self, values: list[str], rng: np.random.Generator) -> tuple[list[str], Any]:
        # Long enough that a million draws are almost surely distinct, then checked.
        letters = np.array(list(_BASE32))
        made: dict[str, None] = {}
        while len(made) < len(values):
            draws = rng.integers(0, len(letters), size=(len(values) - len(made), 12))
            made.update(dict.fromkeys("".join(row) for row in letters[draws]))
        pseudonyms = [self.prefix + word for word in made]
        return pseudonyms, {"pseudonyms": dict(zip(values, pseudonyms, strict=True))}


def _as_text(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.List | pl.Array):
        raise MethodError(
            f"column {series.name!r} holds lists, which name nobody", remedy="drop it instead"
        )
    return series.cast(pl.String)
