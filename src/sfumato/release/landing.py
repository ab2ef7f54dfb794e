"""Records that go into a table of a database instead of the release's folder.

The folder holds the evidence beside them, and names the table. The table is filled and read back
before anybody sees it, the promises are counted on what came back, and it appears last, when the
folders have: a table that others see has its evidence, its private half and its entry in the
ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..data.io.source import Endpoint, locate
from ..errors import OutputError, ParameterError
from ..progress import report
from .plan.plan import Output, Plan
from .publish import table_of

if TYPE_CHECKING:
    from ..engines.relation import Relation

_PARTS = "part-*.parquet"


class _Table(Protocol):
    """A table on its way."""

    def check(self) -> None: ...
    def fill(self, parts: Sequence[Path], back: Path) -> str: ...
    def appearing(self) -> AbstractContextManager[None]: ...
    def close(self) -> None: ...


class Landing:
    """The table that a release's records become."""

    def __init__(self, output: Output) -> None:
        self._name = output.table
        self._end: Endpoint = locate(output.database)
        self._replacing = self._own = False
        self._table: _Table | None = None
        self._digest = ""

    @classmethod
    def of(cls, plan: Plan) -> Landing | None:
        """That of a plan; None where its records are files."""
        if not plan.output.table:
            return None
        if plan.output.database.startswith("spark:") and plan.engine.name != "spark":
            raise ParameterError(
                f"the engine {plan.engine.name} does not write tables of Spark's",
                remedy='[engine] use = "spark", or a table of PostgreSQL',
            )
        return cls(plan.output)

    @property
    def title(self) -> str:
        """The table, as messages and the evidence name it: without user and password."""
        return f"{self._name} of {self._end.label}"

    @property
    def in_order(self) -> bool:
        """Whether records come back in the order in which they went."""
        return self._end.format != "spark"

    @property
    def told(self) -> dict[str, str]:
        """What the evidence says of it."""
        return {"database": self._end.label, "name": self._name, "sha256": self._digest}

    @contextmanager
    def held(self, public: Path) -> Iterator[None]:
        """While the release for this folder is made: what did not appear then is gone."""
        self._replacing = table_of(public) == self.title
        if self._end.format == "spark":
            from ..engines.spark.session import running

            self._own = running() is None
        else:
            from ..data.io.postgres_table import PostgresTable

            self._table = PostgresTable(self._end, self._name, replacing=self._replacing)
            self._table.check()
        try:
            yield
        finally:
            if self._table is not None:
                self._table.close()

    def opened(self, data: Relation, aside: Path) -> None:
        """Where the engine has the table: it must be free before the first step."""
        if self._end.format != "spark":
            return
        from ..engines.spark.relation import SparkRelation
        from ..engines.spark.tables import SparkTable

        assert isinstance(data, SparkRelation)
        name = ".".join(filter(None, [self._end.url, self._name]))
        self._table = SparkTable(data.engine, name, aside, replacing=self._replacing, own=self._own)
        self._table.check()

    def fill(self, parts: Path, back: Path) -> Path:
        """The records of all parts of a folder into the table; what the database gives back of it,
        in a folder of parts too."""
        assert self._table is not None
        report("into the table", 0, 1)
        files = sorted(parts.glob(_PARTS))
        self._digest = self._table.fill(files, back)
        for file in files:
            file.unlink()
        parts.rmdir()
        return back

    def appearing(self) -> AbstractContextManager[None]:
        """Others see the table when this block ends without an error."""
        if self._table is None or not self._digest:
            raise OutputError(f"the table {self.title} was not filled")
        return self._table.appearing()
