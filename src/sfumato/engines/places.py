"""The engines that hold more than fits into memory: where they run, and what they may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from ..bounds import free_memory, size_of
from ..protocols import Engine

if TYPE_CHECKING:
    from .relation import Relation

_LEAST = 1 << 28


def memory_of(text: str) -> int:
    """Bytes of memory.

    >>> memory_of("3 GiB") == 3 * 2**30
    True
    """
    size = size_of(text)
    if size < _LEAST:
        raise ValueError("is too little: 256 MiB at least")
    return size


def half_of_free() -> int:
    """Half of the memory that nobody uses, in bytes; at least 1 GiB."""
    return max(free_memory() // 2, 1 << 30)


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
            memory_of(given)
        return given

    @property
    def bytes(self) -> int:
        """The memory that it may use."""
        return memory_of(self.memory) if self.memory else half_of_free()

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
