"""Searches for sets that look for neighbours in hash buckets."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from ...kernels.sets.lsh import MOST_BITS
from .base import SetSearch


class HashedSearch(SetSearch):
    """A search whose neighbours are those that share a bucket of a locality-sensitive hash."""

    random: ClassVar[bool] = True

    tables: Annotated[int, Field(ge=1, le=64, description="hash tables")] = 5
    sample: Annotated[
        float, Field(gt=0, description="a search looks at about this times log(n) sets")
    ] = 50.0
    bits: Annotated[
        int | None,
        Field(ge=0, le=MOST_BITS, description="length of the hash keys; fits `sample` if left out"),
    ] = None
