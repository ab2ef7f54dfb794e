"""The engines that hold more than fits into memory: where they run, and what they may use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from ..protocols import Engine

if TYPE_CHECKING:
    from .relation import Relation

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_LEAST = 1 << 28


def size_of(text: str) -> int:
    """Bytes.

    >>> size_of("3 GiB") == 3 * 2**30, size_of("500MB")
    (True, 500000000)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError("is not a size such as 3 GiB or 500 MB")
    base = 1024 if found[3] else 1000
    size = int(float(found[1]) * base ** ("KMGT".index(found[2].upper()) + 1))
    if size < _LEAST:
        raise ValueError("is too little: 256 MiB at least")
    return size


def half_of_free() -> int:
    """Half of the memory that nobody uses, in bytes; at least 1 GiB."""
    try:
        listed = Path("/proc/meminfo").read_text(encoding="ascii")
        free = int(listed.partition("MemAvailable:")[2].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        free = 4 << 30
        if hasattr(os, "sysconf"):
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(free // 2, 1 << 30)


class Outside(Engine):
    """What engines beyond memory share."""

    memory: str = Field(
        "", description="memory to use at most, such as 3 GiB; half of what is free unless given"
    )
    temporary: str = Field(
        "",
        description="folder for what does not fit into memory, private and on a fast disk; beside "
        "the release unless given",
        json_schema_extra={"file": True},
    )

    @field_validator("memory")
    @classmethod
    def _a_size(cls, given: str) -> str:
        if given:
            size_of(given)
        return given

    @property
    def bytes(self) -> int:
        """The memory that it may use."""
        return size_of(self.memory) if self.memory else half_of_free()

    def beside(self, folder: Path) -> Engine:
        return self if self.temporary else self.model_copy(update={"temporary": str(folder)})

    @property
    def aside(self) -> Path | None:
        """Where it writes what does not fit."""
        return Path(self.temporary) if self.temporary else None


class DuckDb(Outside):
    """This machine, with records on its disk: DuckDB, out of core."""

    name: ClassVar[str] = "duckdb"
    example: ClassVar[Mapping[str, Any]] = {"memory": "3 GiB"}

    threads: int | None = Field(None, ge=1, description="cores to use; all unless given")

    @contextmanager
    def opened(self, source: str, options: Mapping[str, Any]) -> Iterator[Relation]:
        from .duckdb import DuckDB

        with DuckDB(self.bytes, self.threads, self.aside) as engine:
            yield engine.open(source, **options)


class Spark(Outside):
    """A cluster, or this machine as one: Apache Spark."""

    name: ClassVar[str] = "spark"
    example: ClassVar[Mapping[str, Any]] = {"master": "local[2]"}

    master: str = Field(
        "local[*]", description="where Spark runs: local[2], sc://HOST, yarn, k8s://HOST"
    )
    conf: dict[str, str] = Field(
        default_factory=dict, description='Spark\'s own words: { "spark.executor.memory" = "4g" }'
    )

    @contextmanager
    def opened(self, source: str, options: Mapping[str, Any]) -> Iterator[Relation]:
        from .spark import Spark as Cluster

        with Cluster(
            master=self.master, conf=self.conf, memory=self.bytes, temporary=self.temporary
        ) as engine:
            yield engine.open(source, options)
