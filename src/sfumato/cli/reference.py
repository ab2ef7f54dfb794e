"""The reference pages, made from the declarations: `python -m sfumato.cli.reference
docs/reference`."""

from __future__ import annotations

import sys
from pathlib import Path

from ..registry import KINDS, Entry, entries
from .explain import facts, toml_or_dash

_TITLES = {
    "method": "Methods",
    "partitioner": "Searches",
    "verb": "Verbs",
    "measure": "Measures",
    "criterion": "Criteria",
    "poset": "Posets",
    "attack": "Attacks",
    "rule": "Rules",
    "table-method": "Table methods",
}


def page(kind: str) -> str:
    """One page for one kind of thing."""
    made = "<!-- Made by `make docs` from the declarations; edit those instead. -->"
    parts = [f"# {_TITLES[kind]}", made]
    parts += [_section(entry) for entry in entries(kind)]
    return "\n\n".join(parts) + "\n"


def _section(entry: Entry) -> str:
    found = facts(entry)
    alias = f" (also {', '.join(f'`{a}`' for a in found['aliases'])})" if found["aliases"] else ""
    parts = [f"## `{found['name']}`{alias}", found["about"]]
    if found["acts_on"]:
        parts.append(f"Acts on {found['acts_on']}.")
    if found["parameters"]:
        rows = ["| parameter | values | default | meaning |", "|---|---|---|---|"]
        for p in found["parameters"]:
            default = "needed" if p["required"] else f"`{toml_or_dash(p['default'])}`"
            values = p["domain"].replace("|", "\\|")
            rows.append(f"| `{p['name']}` | {values} | {default} | {p['meaning']} |")
        parts.append("\n".join(rows))
    if found["paper"]:
        parts.append(f"Paper: {found['paper']}")
    parts.append(f"```toml\n{found['example'].rstrip()}\n```")
    return "\n\n".join(parts)


def write(folder: Path) -> list[Path]:
    """Every page; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in KINDS:
        if any(entries(kind)):
            path = folder / f"{_TITLES[kind].lower().replace(' ', '-')}.md"
            path.write_text(page(kind), encoding="utf-8")
            written.append(path)
    return written


if __name__ == "__main__":
    for path in write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")):
        print(path)
