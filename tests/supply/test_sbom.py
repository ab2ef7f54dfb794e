"""The list of what runs Sfumato, in the form that other tools read."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.supply.sbom import closure, sbom

ROOT = Path(__file__).resolve().parents[2]


def test_its_form_is_cyclonedx() -> None:
    made = sbom()
    assert made["bomFormat"] == "CycloneDX"
    assert re.fullmatch(r"1\.\d", made["specVersion"])
    assert made["metadata"]["component"]["name"] == "sfumato"
    names = [one["name"] for one in made["components"]]
    assert names == sorted(set(names))
    for one in made["components"]:
        assert one["version"] == metadata.version(one["name"])
        assert one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}"
        assert one["scope"] in ("required", "optional")
        for licence in one["licenses"]:
            (told,) = licence.values()
            assert told if isinstance(told, str) else told.get("id") or told.get("name")
        assert one["licenses"], f"{one['name']} names no licence"


def test_every_run_time_dependency_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    found = {one["name"]: one for one in sbom()["components"]}
    assert asked
    assert asked <= found.keys()
    assert {found[name]["scope"] for name in asked} == {"required"}
    # What dependencies bring themselves, and no developers' tool.
    assert {"llvmlite", "pydantic-core"} <= found.keys()
    assert not {"pytest", "ruff", "mypy", "hatchling"} & found.keys()


def test_extras_are_followed() -> None:
    assert "psycopg" in closure("sfumato", ["postgres"])
    assert "psycopg" not in closure("sfumato")


def test_licences_that_ask_something_of_whoever_ships_them_are_named() -> None:
    told = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| package .*?\n\n", told, flags=re.M | re.S)
    copyleft = [one for one in sbom()["components"] if "GPL" in str(one["licenses"])]
    assert {"python-stdnum", "psycopg"} <= {one["name"] for one in copyleft}
    for one in copyleft:
        assert f"| {one['name']} |" in table
