"""Plain tables for a terminal or a README."""

from __future__ import annotations

from collections.abc import Sequence


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *notes: str) -> str:
    """Aligned Markdown: numbers to the right, words to the left."""
    if not rows:
        return ""
    columns = [list(column) for column in zip(header, *rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    right = [_numeric(column[1:]) for column in columns]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        return "| " + " | ".join(padded) + " |"

    ends = [":" if to_right else "-" for to_right in right]
    rule = "|".join("-" * (width + 1) + end for width, end in zip(widths, ends, strict=True))
    body = [line(header), f"|{rule}|", *map(line, rows)]
    return "\n".join([f"\n{title}\n", *body, *([""] if notes else []), *notes])


def _numeric(cells: Sequence[str]) -> bool:
    """Whether a column is mostly figures."""
    figures = [cell for cell in cells if not cell or cell[0].isdigit() or cell[0] in "-<>"]
    return len(figures) * 2 > len(cells)


def seconds(value: float | None) -> str:
    """Three digits are enough to compare."""
    if value is None:
        return ""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def mebibytes(value: float | None) -> str:
    return "" if value is None else f"{value / 2**20:,.0f}"


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def against(value: float | None, limit: float | None) -> str:
    """The limit, and whether it was kept."""
    if limit is None:
        return ""
    kept = value is not None and value < limit
    return f"{limit:g} {'kept' if kept else 'MISSED'}"


def ratio(value: float | None, limit: float | None) -> str:
    """A multiple, marked where it is not below its limit."""
    if value is None:
        return ""
    return f"{value:.2f}" if limit is None or value < limit else f"{value:.2f} (limit {limit:g})"
