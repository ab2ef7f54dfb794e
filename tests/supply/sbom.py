"""`make sbom`: what runs Sfumato here, with versions and licences, as a CycloneDX document.

    .venv/bin/python -m tests.supply.sbom build/sbom.json

Read from the metadata of what is installed: the dependencies of Sfumato and theirs are `required`,
those of its extras, where they are installed, `optional`; developers' tools are left out. It holds
no clock and no serial number, so that the same set-up gives the same bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = "sfumato"
EXTRAS = ("studio", "spark", "bayes", "postgres", "stat")
"""Those for whoever uses Sfumato."""
_LONGEST = 60
"""Some write the whole text where the name of a licence belongs."""
_NAMES = {"MIT License": "MIT", "ISC License (ISCL)": "ISC"}
"""By the classifiers' words, what SPDX calls it; others leave open which version is meant."""


def closure(name: str, extras: Iterable[str] = ()) -> set[str]:
    """The installed packages that one asks for, and what those ask for in turn."""
    found: set[str] = set()
    waiting = [(name, frozenset(extras))]
    done = set()
    while waiting:
        package, wanted = waiting.pop()
        if (package, wanted) in done:
            continue
        done.add((package, wanted))
        for line in metadata.requires(package) or []:
            asked = Requirement(line)
            if asked.marker and not any(
                asked.marker.evaluate({"extra": extra}) for extra in wanted or {""}
            ):
                continue
            inner = canonicalize_name(asked.name)
            try:
                metadata.distribution(inner)
            except metadata.PackageNotFoundError:
                continue  # an extra that is not installed; what is required is checked by pip
            found.add(inner)
            waiting.append((inner, frozenset(asked.extras)))
    return found


def licences(told: Any) -> list[dict[str, Any]]:
    """As CycloneDX writes them: an SPDX expression, or the name that the package gives."""
    if expression := told.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in told.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    written = (told.get("License") or "").strip()
    if written and len(written) <= _LONGEST and "\n" not in written and not classifiers:
        return [{"license": {"name": written}}]
    return [
        {"license": {"id": _NAMES[one]} if one in _NAMES else {"name": one}} for one in classifiers
    ]


def component(name: str, scope: str) -> dict[str, Any]:
    """One package."""
    found = metadata.distribution(name)
    return {
        "type": "library",
        "bom-ref": purl(name, found.version),
        "name": name,
        "version": found.version,
        "purl": purl(name, found.version),
        "scope": scope,
        "licenses": licences(found.metadata),
    }


def purl(name: str, version: str) -> str:
    """What other tools know a package by."""
    return f"pkg:pypi/{name}@{version}"


def sbom() -> dict[str, Any]:
    """The document."""
    required = closure(PROJECT)
    optional = closure(PROJECT, EXTRAS) - required
    project = metadata.distribution(PROJECT)
    itself = {
        "type": "application",
        "bom-ref": purl(PROJECT, project.version),
        "name": PROJECT,
        "version": project.version,
        "purl": purl(PROJECT, project.version),
        "licenses": licences(project.metadata),
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": itself},
        "components": [
            component(name, "required" if name in required else "optional")
            for name in sorted(required | optional)
        ],
    }


def main() -> None:
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(sbom(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
