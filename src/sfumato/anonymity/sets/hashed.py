"""Searches for sets that look for neighbours in hash buckets."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ...kernels.sets.lsh import MOST_BITS
from .base import SetSearch


class HashedSearch(SetSearch):
    """A search whose neighbours are those that share a bucket of a locality-sensitive hash."""

    random: ClassVar[bool] = True

    tables: int = Field(5, ge=1, le=64, description="hash tables")
    sample: float = Field(50.0, gt=0, description="a search looks at about this times log(n) sets")
    bits: int | None = Field(
        None, ge=0, le=MOST_BITS, description="length of the hash keys; fits `sample` if left out"
    )
