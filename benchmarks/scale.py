"""Scale: Mondrian and local suppression on generated records, up to ten million."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import generate
import polars as pl
from contenders import Row, Setting, anonypy_worth, row, say, worth, write_hierarchies
from score import Score

_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "partition alone": ("group", {}),
    "protect, no measures": ("mask", {"bare": True}),
    "protect, usual measures": ("mask", {"bare": False}),
}
_QUASI = list(generate.COLUMNS)


def mondrian(setting: Setting) -> Iterator[Row]:
    """k = 5 on eight columns: seconds, and memory against the input's bytes."""
    sizes = (5_000, 20_000) if setting.quick else (1_000_000, 10_000_000)
    limits = {} if setting.quick else dict(zip(sizes, (5.0, 60.0), strict=True))
    most = None if setting.quick else 4.0
    shapes: tuple[generate.Shape, ...] = ("mixed", "integers")
    for rows in sizes:
        for shape in shapes:
            source = setting.folder / f"{shape}-{rows}.arrow"
            for way, (task, more) in _WAYS.items():
                name = f"Sfumato mondrian, {way}"
                # What the evidence costs is asked once: it does not depend on the columns' types.
                costly = not more.get("bare", True) and (rows, shape) != (sizes[0], "mixed")
                if costly or not setting.wants("scale", name):
                    continue
                if not source.exists():
                    generate.write(rows, shape, source)
                say(f"{name}, {rows:,} x 8 {shape}")
                # One output is scored, beside those of the peers on the same records.
                scored = rows == sizes[0] and shape == "mixed" and way == "protect, no measures"
                options = {"use": "mondrian", "k": 5, "quasi": _QUASI, "write": scored, **more}
                ran = setting.sfumato(task, source, **options)
                value: Score | str = ""
                if scored and ran.ok:
                    original = pl.read_ipc(source)
                    value = worth(ran, setting.target, original, _QUASI, {})
                # The limits are for masking; the evidence is asked for what it costs, no more.
                masking = way != "protect, usual measures"
                limit = limits.get(rows) if masking else None
                about = row(name, ran, value, rows=rows, shape=shape, limit_s=limit)
                ratio = most if masking else None
                yield {**about, "arrow_bytes": ran.found.get("arrow"), "limit_ratio": ratio}
            source.unlink(missing_ok=True)
    if setting.peers is not None:
        yield from _peers(setting, sizes[0])


def _peers(setting: Setting, rows: int) -> Iterator[Row]:
    source = setting.folder / "large.csv"
    common: Row = {"k": 5, "quasi": _QUASI, "confidential": None, "separator": ";"}
    for name in ("anonypy Mondrian", "anjana k-anonymity, 0 % suppression"):
        if not setting.wants("scale", name):
            continue
        if not source.exists():
            pl.DataFrame(generate.adult_like(rows)).write_csv(source, separator=";")
        original = pl.read_csv(source, separator=";")
        say(f"{name}, {rows:,} x 8 mixed")
        if name.startswith("anonypy"):
            ran = setting.peer("anonypy", source, **common)
            value = anonypy_worth(ran, setting.target, original, _QUASI)
        else:
            paths = write_hierarchies(setting.folder)
            ran = setting.peer("anjana", source, suppress=0, hierarchies=paths, **common)
            value = worth(ran, setting.target, original, _QUASI, generate.hierarchies())
        about = row(name, ran, value, rows=rows, shape="mixed", limit_s=None)
        yield {**about, "arrow_bytes": None, "limit_ratio": None}


def suppression(setting: Setting) -> Iterator[Row]:
    """Local suppression to k = 3 on seven keys, beside the greedy baseline."""
    small, large = (300, 5_000) if setting.quick else (5_000, 1_000_000)
    keys = [name for name in _QUASI if name != "hours-per-week"]
    for rows in (small, large):
        source = setting.folder / f"keys-{rows}.arrow"
        generate.write(rows, "mixed", source)
        contenders = {"Sfumato local-suppression": "suppress", "greedy baseline": "greedy"}
        for name, task in contenders.items():
            if not setting.wants("suppression", name):
                continue
            say(f"{name}, {rows:,} x 7")
            ran = setting.sfumato(task, source, use="local-suppression", k=3, quasi=keys)
            limited = rows == large and task == "suppress" and not setting.quick
            limit = 20.0 if limited else None
            about = row(name, ran, rows=rows, limit_s=limit, k=ran.found.get("k"))
            yield {**about, "cells": ran.found.get("cells")}
