"""Conditions on camouflaged tables: which records surely, and which possibly, meet them.

DuckDB parses the condition; nothing of the text itself is ever executed. Only the tree of one
expression is taken over, with the columns that may be named. A condition on a camouflaged column
is read in two ways, by the ends of each record's span: "surely" where it holds for every value of
the span, "possibly" where it holds for some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from ...errors import MethodError, suggest

Node = dict[str, Any]

_PLAIN = (
    "CONSTANT",
    "COLUMN_REF",
    "COMPARISON",
    "CONJUNCTION",
    "OPERATOR",
    "FUNCTION",
    "CAST",
    "BETWEEN",
    "CASE",
    "COLLATE",
    "TYPE",
)
_VOLATILE = ("random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "nextval", "currval")
_LESS = ("COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO")
_GREATER = ("COMPARE_GREATERTHAN", "COMPARE_GREATERTHANOREQUALTO")
_NULL_TESTS = ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL")
_LOW, _HIGH = 0, 1


class Records:
    """Public columns and the ends of the spans, in a database that reaches nothing else."""

    def __init__(
        self, public: pl.DataFrame, spans: Mapping[str, tuple[np.ndarray, np.ndarray]]
    ) -> None:
        import duckdb

        # Names of our own: the user's differ in case only at times, which SQL does not tell apart.
        self._public = {name: f"c{j}" for j, name in enumerate(public.columns)}
        self._spans = {name: (f"low{j}", f"high{j}") for j, name in enumerate(spans)}
        ends = [
            pl.Series(end, values, nan_to_null=True)
            for name, both in self._spans.items()
            for end, values in zip(both, spans[name], strict=True)
        ]
        self._height = len(ends[0])
        row = pl.Series("row", np.arange(self._height, dtype=np.int64))
        frame = pl.DataFrame([row, *ends, *public.rename(self._public)])
        self._connection = duckdb.connect(":memory:")
        self._connection.register("given", frame.to_arrow())
        self._connection.execute("CREATE TABLE records AS SELECT * FROM given")
        self._connection.unregister("given")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def select(self, where: str) -> tuple[np.ndarray, np.ndarray]:
        """Which records surely meet the condition, and which possibly do."""
        if not where.strip():
            everyone = np.ones(self._height, dtype=bool)
            return everyone, everyone
        tree = self._parse(where)
        sure = self._run(self._reading(tree, sure=True))
        possible = self._run(self._reading(tree, sure=False)) if self._hides(tree) else sure
        return sure, possible

    def _parse(self, where: str) -> Node:
        """The tree of the condition, if it is one expression over columns that may be named."""
        # The line break ends a comment; the parentheses cannot be left without a second clause,
        # which the checks below see.
        statement = f"SELECT row FROM records WHERE (\n{where}\n)"
        found = self._serialized(statement)
        if found.get("error") or len(found["statements"]) != 1:
            raise MethodError(
                f"the condition {where!r} is not one SQL expression: "
                f"{found.get('error_message', 'it holds several statements')}",
                remedy="such as where = \"age > 30 AND sex = 'f'\"",
            )
        node = found["statements"][0]["node"]
        plain = self._serialized("SELECT row FROM records WHERE true")["statements"][0]["node"]
        if _frame_of(node) != _frame_of(plain):
            raise MethodError(
                f"the condition {where!r} is more than a condition",
                remedy="give what follows WHERE",
            )
        tree: Node = node["where_clause"]
        for part in _nodes(tree):
            self._check(part, where)
        return tree

    def _serialized(self, statement: str) -> Node:
        found: Node = json.loads(self._one("SELECT json_serialize_sql(?)", statement))
        return found

    def _one(self, statement: str, argument: str) -> str:
        row = self._connection.execute(statement, [argument]).fetchone()
        assert row is not None
        return str(row[0])

    def _check(self, part: Node, where: str) -> None:
        if part["class"] not in _PLAIN:
            raise MethodError(
                f"the condition {where!r} holds a {part['class'].lower().replace('_', ' ')}",
                remedy="use comparisons, AND, OR, NOT, and functions of single values",
            )
        if part["class"] == "FUNCTION" and part["function_name"].lower() in _VOLATILE:
            raise MethodError(
                f"{part['function_name']}() differs from call to call, and so would the answer",
                remedy="select records by their columns",
            )
        if part["class"] == "COLUMN_REF":
            self._known(part)

    def _known(self, part: Node) -> str:
        """The column that a reference names, by its exact name or else by its only spelling."""
        name = ".".join(part["column_names"])
        known = [*self._public, *self._spans]
        alike = [one for one in known if one.lower() == name.lower()]
        if name in known and len(part["column_names"]) == 1:
            return name
        if len(alike) == 1 and len(part["column_names"]) == 1:
            return alike[0]
        close = suggest(name, known)
        raise MethodError(
            f"conditions may not name {name!r}: there is no such column, or it is not public",
            remedy=f'did you mean "{close[0]}"?' if close else f"they may name {', '.join(known)}",
        )

    def _hides(self, tree: Node) -> bool:
        """Whether it names a camouflaged column."""
        return any(
            self._known(part) in self._spans
            for part in _nodes(tree)
            if part["class"] == "COLUMN_REF"
        )

    def _reading(self, node: Node, *, sure: bool) -> Node:
        """The condition for records that surely, or possibly, meet it."""
        if not self._hides(node):
            return self._end(node, _LOW)
        kind = node["type"]
        if node["class"] == "CONJUNCTION":
            return {**node, "children": [self._reading(c, sure=sure) for c in node["children"]]}
        if kind == "OPERATOR_NOT":
            (child,) = node["children"]
            # What surely fails is what does not possibly hold.
            return {**node, "children": [self._reading(child, sure=not sure)]}
        if node["class"] == "COMPARISON":
            return self._comparison(node, sure=sure)
        if node["class"] == "BETWEEN":
            ends = [
                ("COMPARE_GREATERTHANOREQUALTO", "lower"),
                ("COMPARE_LESSTHANOREQUALTO", "upper"),
            ]
            parts = [_compare(kind, node["input"], node[end]) for kind, end in ends]
            return _both([self._reading(part, sure=sure) for part in parts])
        if kind in ("COMPARE_IN", "COMPARE_NOT_IN"):
            first, *others = node["children"]
            either = _either([_compare("COMPARE_EQUAL", first, other) for other in others])
            wanted = either if kind == "COMPARE_IN" else _negation(either)
            return self._reading(wanted, sure=sure)
        if kind in _NULL_TESTS:
            return {**node, "children": [self._end(c, _LOW) for c in node["children"]]}
        raise _too_much()

    def _comparison(self, node: Node, *, sure: bool) -> Node:
        left, right, kind = node["left"], node["right"], node["type"]
        if kind in _GREATER:
            # x > y is y < x.
            kind, left, right = _LESS[_GREATER.index(kind)], right, left
        if kind in _LESS:
            ends = (_HIGH, _LOW) if sure else (_LOW, _HIGH)
            return _compare(kind, self._end(left, ends[0]), self._end(right, ends[1]))
        if kind == "COMPARE_EQUAL":
            ends = (_HIGH, _LOW) if sure else (_LOW, _HIGH)
            # Equal for sure where both spans are the same single value; possibly, where they meet.
            return _both(
                [
                    _compare(_LESS[1], self._end(left, ends[0]), self._end(right, ends[1])),
                    _compare(_LESS[1], self._end(right, ends[0]), self._end(left, ends[1])),
                ]
            )
        if kind == "COMPARE_NOTEQUAL":
            equal = _compare("COMPARE_EQUAL", left, right)
            return self._reading(_negation(equal), sure=sure)
        raise _too_much()

    def _end(self, node: Node, end: int) -> Node:
        """One end of a side of a comparison: a camouflaged column, or something public."""
        if node["class"] != "COLUMN_REF" and self._hides(node):
            raise _too_much()
        found: Node = self._renamed(node, end)
        return found

    def _renamed(self, node: Any, end: int) -> Any:
        if isinstance(node, list):
            return [self._renamed(item, end) for item in node]
        if not isinstance(node, dict):
            return node
        if node.get("class") == "COLUMN_REF":
            name = self._known(node)
            inside = self._spans[name][end] if name in self._spans else self._public[name]
            return {**node, "column_names": [inside]}
        return {key: self._renamed(value, end) for key, value in node.items()}

    def _run(self, tree: Node) -> np.ndarray:
        import duckdb

        whole = self._serialized("SELECT row FROM records WHERE true")
        whole["statements"][0]["node"]["where_clause"] = tree
        try:
            statement = self._one("SELECT json_deserialize_sql(?)", json.dumps(whole))
            rows = self._connection.execute(statement).fetchnumpy()["row"]
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise MethodError(
                f"the condition cannot be evaluated: {reason}",
                remedy="compare columns with values of their own kind",
            ) from None
        chosen = np.zeros(self._height, dtype=bool)
        chosen[np.asarray(rows, dtype=np.int64)] = True
        return chosen


def _too_much() -> MethodError:
    return MethodError(
        "a camouflaged column may only be compared with values and columns, or tested for NULL",
        remedy="such as income > 50000, income BETWEEN 1 AND 2, NOT income < spending",
    )


def _nodes(tree: Any) -> Iterator[Node]:
    """Every expression in the tree."""
    if isinstance(tree, list):
        for item in tree:
            yield from _nodes(item)
    elif isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for value in tree.values():
            yield from _nodes(value)


def _frame_of(node: Node) -> Any:
    """A statement without its condition and without places in the text."""

    def bare(part: Any) -> Any:
        if isinstance(part, list):
            return [bare(item) for item in part]
        if isinstance(part, dict):
            return {k: bare(v) for k, v in part.items() if not k.startswith("query_location")}
        return part

    return bare({key: value for key, value in node.items() if key != "where_clause"})


def _compare(kind: str, left: Node, right: Node) -> Node:
    return {"class": "COMPARISON", "type": kind, "alias": "", "left": left, "right": right}


def _both(children: list[Node]) -> Node:
    return {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "children": children}


def _either(children: list[Node]) -> Node:
    return {"class": "CONJUNCTION", "type": "CONJUNCTION_OR", "alias": "", "children": children}


def _negation(child: Node) -> Node:
    return {"class": "OPERATOR", "type": "OPERATOR_NOT", "alias": "", "children": [child]}


def interval_labels(low: np.ndarray, high: np.ndarray, *, whole: bool) -> pl.Series:
    """ "[low, high]", ends rounded outwards to a hundredth of the width or to whole numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.clip(2 - np.floor(np.log10(high - low)), 0, 300)
    sizes = [] if whole else np.unique(digits[~np.isnan(low) & (digits > 0)]).tolist()
    texts = []
    for values, outwards, outer in ((low, np.floor, np.minimum), (high, np.ceil, np.maximum)):
        made = outwards(values)
        for d in sizes:
            some = values[digits == d]
            # Dividing rounds: where that moves an end inwards, it stays as it was.
            made[digits == d] = outer(outwards(some * 10.0**d) / 10.0**d, some)
        end = pl.Series(made, nan_to_null=True)
        texts.append(end.cast(pl.Int64).cast(pl.String) if whole else _texts(end))
    frame = pl.DataFrame({"low": texts[0], "high": texts[1]})
    return frame.select(pl.format("[{}, {}]", "low", "high")).to_series()


def _texts(numbers: pl.Series) -> pl.Series:
    return numbers.cast(pl.String).str.replace(r"\.0$", "")
