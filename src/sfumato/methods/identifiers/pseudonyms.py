"""What to do with columns that name a person: drop them, or replace them by a pseudonym."""

from __future__ import annotations

import hmac
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
from pydantic import Field

from ...data.schema import Kind
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally, TooMany
from ...engines.spread import Spread, Told
from ...engines.values import domain_of
from ...errors import MethodError
from ...kernels.draws import Draws
from ...rng import Key

_BASE32 = "abcdefghijkmnpqrstuvwxyz23456789"
_LETTERS = 12
"""Of a pseudonym: long enough that a million are almost surely distinct, then checked."""
MOST_LISTED = 2_000_000
"""Distinct values up to which the table that leads back is written."""
_UNLIKELY = 2.0**-40
"""The chance that two values share a replacement which need not be counted."""


class Drop(Spread):
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

    def survey(self, data: Relation, key: Key) -> list[str]:
        return self.targets(data.empty)[0]

    def mask_part(self, part: Table, known: list[str], draws: Draws) -> Part:
        return Part(part.without(known))

    def told(self, known: list[str], tally: Tally) -> Told:
        warnings = () if known else ("there was no identifier to drop",)
        return Told({"dropped": known}, warnings=warnings)


@dataclass(frozen=True)
class Secret:
    """What the replacements of a column are made from."""

    key: bytes
    length: int
    listed: Mapping[str, str] | None = None
    """Of each value its replacement, where the table leads back."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Parts elsewhere make the replacements that they need.
        return Secret, (self.key, self.length)


class _Replace(Spread):
    """What hashing and pseudonymizing share: equal values get equal replacements, missing stays
    missing."""

    perturbs: ClassVar[bool | None] = False
    roles: ClassVar[tuple[str, ...]] = ("identifier",)
    handles_identifiers: ClassVar[bool] = True

    def survey(self, data: Relation, key: Key) -> dict[str, Secret]:
        chosen, _ = self.targets(data.empty)
        for name in chosen:
            _as_text(data.empty[name])
        return {name: self.secret(data, name, key.of(name)) for name in chosen}

    def mask_part(self, part: Table, known: dict[str, Secret], draws: Draws) -> Part:
        series, columns = [], []
        for name, secret in known.items():
            text = _as_text(part[name])
            distinct = text.drop_nulls().unique().sort()
            made = [self.replacement(value, secret) for value in distinct.to_list()]
            series.append(
                text.replace_strict(
                    distinct, pl.Series(made, dtype=pl.String), return_dtype=pl.String
                ).alias(name)
            )
            columns.append(part.schema[name].with_(kind=Kind.TEXT, categories=(), poset=None))
        return Part(part.with_columns(series, columns))

    @abstractmethod
    def secret(self, data: Relation, name: str, key: Key) -> Secret:
        """What the replacements of a column are made from: no two values share one."""

    @abstractmethod
    def replacement(self, value: str, secret: Secret) -> str:
        """What a value is replaced by."""

    def distinct(self, data: Relation, name: str, secret: Secret) -> dict[str, str] | None:
        """Each value of a column and its replacement; None where two values share one."""
        values = [v for v in _as_text(domain_of(data, name).values).to_list() if v is not None]
        made = {value: self.replacement(value, secret) for value in values}
        return made if len(set(made.values())) == len(made) else None


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

    def secret(self, data: Relation, name: str, key: Key) -> Secret:
        found = Secret(bytes.fromhex(self.key) or key.stream().bytes(32), self.length)
        short = data.height**2 > _UNLIKELY * 2.0 ** (4 * self.length + 1)
        if short and self.distinct(data, name, found) is None:
            raise MethodError(
                f"two identifiers share their first {self.length} digits",
                remedy=f"length = {min(64, 2 * self.length)}",
            )
        return found

    def replacement(self, value: str, secret: Secret) -> str:
        return hmac.digest(secret.key, value.encode(), "sha256").hex()[: secret.length]

    def told(self, known: dict[str, Secret], tally: Tally) -> Told:
        keys = {name: {"key": secret.key.hex()} for name, secret in known.items()}
        return Told({"replaced": list(known)}, secrets=keys)


class Pseudonymize(_Replace):
    """Replace identifiers by short random pseudonyms.

    The table that leads back stays in the private face; of more than two million values, whose
    pseudonyms are longer, the key stays there: the pseudonym of a value is its keyed hash
    (HMAC-SHA256) by letters of five bits, so that whoever has the key and the values can make the
    table.
    """

    name: ClassVar[str] = "pseudonymize"
    paper: ClassVar[str] = "ISO 25237:2017"

    prefix: str = Field("", description="text before each pseudonym")

    def secret(self, data: Relation, name: str, key: Key) -> Secret:
        many = data.height > MOST_LISTED and _more_than(MOST_LISTED, data, name)
        for again in range(64):
            own = Secret(key.of("pseudonyms", again).stream().bytes(32), _LETTERS)
            if many:
                return Secret(own.key, _letters(data.height))
            listed = self.distinct(data, name, own)
            if listed is not None:
                return Secret(own.key, own.length, listed)
        raise MethodError(f"column {name!r}: no pseudonyms that differ were found")

    def replacement(self, value: str, secret: Secret) -> str:
        if secret.listed is not None:
            return secret.listed[value]
        digest = hmac.digest(secret.key, value.encode(), "sha256")
        number = int.from_bytes(digest, "little")
        letters = (_BASE32[number >> 5 * i & 31] for i in range(secret.length))
        return self.prefix + "".join(letters)

    def told(self, known: dict[str, Secret], tally: Tally) -> Told:
        private: dict[str, Any] = {}
        warnings = []
        for name, secret in known.items():
            if secret.listed is not None:
                private[name] = {"pseudonyms": dict(secret.listed)}
                continue
            private[name] = {"key": secret.key.hex(), "letters": secret.length}
            warnings.append(
                f"{name} has more than {MOST_LISTED:,} values: no table leads back from its "
                "pseudonyms, but the private key does"
            )
        return Told({"replaced": list(known)}, private, tuple(warnings))


def _letters(records: int) -> int:
    """Letters at which so many pseudonyms are distinct, as good as surely."""
    length = _LETTERS
    while records**2 > _UNLIKELY * 2.0 ** (5 * length + 1):
        length += 1
    return length


def _more_than(most: int, data: Relation, name: str) -> bool:
    try:
        data.only([name]).count_by([name], most)
    except TooMany:
        return True
    return False


def _as_text(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.List | pl.Array):
        raise MethodError(
            f"column {series.name!r} holds lists, which name nobody", remedy="drop it instead"
        )
    return series.cast(pl.String)
