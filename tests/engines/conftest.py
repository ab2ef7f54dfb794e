"""One Spark session for all tests that need one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from sfumato.engines.spark import Spark


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session for all tests, which tries a task that failed again, as clusters do."""
    pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Java is not installed")
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    with Spark(master="local[2,4]", conf={"spark.sql.warehouse.dir": warehouse}) as engine:
        yield engine.given


@pytest.fixture(params=[1, 2, 8])
def engine(request: pytest.FixtureRequest, session: Any) -> Iterator[Spark]:
    """The engine with so many partitions."""
    with Spark(session=session, partitions=request.param) as made:
        yield made


@pytest.fixture
def two(session: Any) -> Iterator[Spark]:
    """The engine with two partitions, where nothing depends on how many there are."""
    with Spark(session=session, partitions=2) as made:
        yield made
