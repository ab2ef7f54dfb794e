"""The reference pages and the types of lazily loaded names, made from the declarations:
`python -m sfumato.cli.reference docs/reference`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

import sfumato

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
_MADE = "<!-- Made by `make docs` from the declarations; edit those instead. -->"


def page(kind: str) -> str:
    """One page for one kind of thing."""
    parts = [f"# {_TITLES[kind]}", _MADE]
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


def public() -> str:
    """The page of the public names, each with the first sentence that is said of it."""
    rows = ["| `sf.` | meaning |", "|---|---|"]
    for name in sorted((*sfumato._WHERE, *sfumato._MODULES)):
        about = inspect.getdoc(getattr(sfumato, name)) or ""
        first = " ".join(about.split("\n\n")[0].split()).split(". ")[0].rstrip(".:")
        rows.append(f"| `{name}` | {first} |")
    said = "What `import sfumato as sf` offers; everything else is imported from its own module."
    return "\n\n".join(["# Public names", _MADE, said, "\n".join(rows)]) + "\n"


def stubs() -> dict[str, str]:
    """The types of the package's lazily loaded names, by the file that tells them."""
    modules = [place.rpartition(".")[::2] for place in sfumato._MODULES.values()]
    return {
        "__init__.pyi": _stub(
            [*modules, *((module, name) for name, module in sfumato._WHERE.items())],
            "\n__version__: str\n_MODULES: dict[str, str]\n_WHERE: dict[str, str]\n",
        ),
        "things.pyi": _stub(
            entry.target.removeprefix("sfumato.").partition(":")[::2]
            for entry in entries()
            if entry.target.startswith("sfumato.")
        ),
    }


def _stub(places: Iterable[tuple[str, str]], more: str = "") -> str:
    lines = [f"from .{module} import {name} as {name}\n" for module, name in sorted(places)]
    return "# Made by `make docs`; edit the .py beside it instead.\n" + "".join(lines) + more


def write(folder: Path) -> list[Path]:
    """Every page; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    titles = {kind: _TITLES[kind].lower().replace(" ", "-") for kind in KINDS if any(entries(kind))}
    pages = {f"{title}.md": page(kind) for kind, title in titles.items()} | {"public.md": public()}
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


if __name__ == "__main__":
    for path in write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")):
        print(path)
    for name, text in stubs().items():
        Path(sfumato.__path__[0], name).write_text(text, encoding="utf-8")
