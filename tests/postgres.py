"""A PostgreSQL server of our own, for as long as the tests of a module."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

USER, PASSWORD = "steward", "s3cret/p@ss:word"


def _program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    program = str(found[0]) if found else shutil.which(name)
    if not program:
        pytest.skip(f"no PostgreSQL server is installed ({name} was not found)")
    return program


class Server:
    """A running server: a URL for readers, and a way to run SQL without them."""

    def __init__(self, port: int) -> None:
        self.port = port
        secret = f"{quote(USER)}:{quote(PASSWORD, safe='')}"
        self.url = f"postgresql://{secret}@127.0.0.1:{port}/postgres"

    def run(self, *statements: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.url) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server in a folder of its own, on a free port of this machine only."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra `postgres`)")
    initdb, control = _program("initdb"), _program("pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="sfumato-postgres-"))
    as_owner: list[str] = []
    if os.name == "posix" and os.geteuid() == 0:
        # The server refuses to run as root.
        runuser = shutil.which("runuser")
        if runuser is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
            shutil.rmtree(folder)
            pytest.skip("running as root, and there is no user `postgres` to run the server as")
        as_owner = [runuser, "-u", "postgres", "--"]
    (folder / "password").write_text(PASSWORD)
    if as_owner:
        for path in (folder, folder / "password"):
            shutil.chown(path, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = str(folder / "data")

    def call(*command: str) -> None:
        done = subprocess.run(
            [*as_owner, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert done.returncode == 0, done.stderr.decode()

    try:
        call(
            *(initdb, "-D", data, "-U", USER, "-A", "scram-sha-256", "-E", "UTF8", "--no-sync"),
            *("--locale=C", f"--pwfile={folder / 'password'}"),
        )
        options = f"-p {port} -k {folder} -h 127.0.0.1 -F"
        call(control, "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
        try:
            yield Server(port)
        finally:
            call(control, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def empty(server: Server) -> Server:
    """The server without any table of an earlier test."""
    server.run(
        "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", "DROP SCHEMA IF EXISTS lab CASCADE"
    )
    return server
