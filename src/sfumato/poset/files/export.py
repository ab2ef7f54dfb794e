"""Posets as files: hierarchies in ARX's layout, partial orders as child and parent."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...aside import write_text
from ...errors import OutputError
from ...protocols import Poset
from ..partial_order import PartialOrderPoset
from ..trees.tree import Tree


def poset_rows(poset: Poset) -> list[list[str]]:
    """The rows of a poset's file: a value and its ancestors (tree), or a child and a parent.

    >>> from sfumato.poset.trees.sources import Prefix
    >>> poset_rows(Prefix(lengths=[5, 3]).bind(["02138", "02139", "10001"]))[1]
    ['02139', '021**', '*']
    """
    if isinstance(poset, Tree):
        # Leaves as the column writes them, which may not be as they are published.
        written = dict(enumerate(poset.label_of_node))
        for value, code in poset._code_of.items():
            written[int(poset.leaf_nodes[code])] = value
        columns = [
            [written[node] for node in poset.nodes_at(level)[1:].tolist()]
            for level in range(poset.levels)
        ]
        return [list(row) for row in zip(*columns, strict=True)]
    if isinstance(poset, PartialOrderPoset):
        order = poset.order
        pairs = [(node, parent) for node in range(len(order)) for parent in order.parents[node]]
        return [[order.labels[node], order.labels[parent]] for node, parent in pairs]
    raise OutputError(
        f"{type(poset).__name__} is neither a tree nor a partial order, and has no file",
        remedy="export columns with a hierarchy, prefixes, bins or a partial order",
    )


def poset_csv(poset: Poset) -> str:
    """The file's content, semicolons between the cells."""
    return rows_csv(poset_rows(poset))


def rows_csv(rows: Sequence[Sequence[str]]) -> str:
    """Rows as such a file holds them.

    >>> rows_csv([["Bonn", "Germany", "*"]])
    'Bonn;Germany;*\\n'
    """
    # What the writer leaves bare would be read as the end of a row, or as the mark of a coding.
    odd = any("\r" in cell or cell.startswith("\ufeff") for row in rows for cell in row)
    out = io.StringIO()
    quoting: Any = csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=";", lineterminator="\n", quoting=quoting).writerows(rows)
    return out.getvalue()


def write_poset(poset: Poset, path: str | Path, *, replace: bool = True) -> None:
    """Write a tree or a partial order; kinds "hierarchy" and "partial-order" read it back."""
    content = poset_csv(poset)
    write_text(Path(path), content, private=True, replace=replace)  # it holds every value
