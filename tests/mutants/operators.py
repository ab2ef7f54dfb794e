"""Small faults, planted one at a time in the source of a module: `<=` for `<`, `any` for `all`, a
limit one per cent too lax, a refusal left out."""

from __future__ import annotations

import ast
import collections
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "sorted": "list",
}
TOLD_ONLY = {"report"}
"""Calls that only tell how far the work has come: what they are given is no one's promise."""


@dataclass(frozen=True)
class Mutant:
    """One fault at one place."""

    file: str
    function: str
    """The function it is in, with its class; empty at the level of the module."""
    change: str
    """The statement before and after, which names the mutant wherever the lines move."""
    lines: tuple[int, int]
    """Where a test must come by to notice."""
    outermost: tuple[str, int] | None
    """Qualified name and first line of the function to replace; None if it runs on import."""
    node: int
    variant: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.function, self.change

    def rank(self, seed: int) -> str:
        """Where it stands in a sample: by its name, so that changes elsewhere do not draw anew."""
        return hashlib.sha256(repr((seed, *self.key)).encode()).hexdigest()


class Source:
    """A module's syntax tree, its mutants, and the tree with one of them planted."""

    def __init__(self, root: Path, file: str) -> None:
        self.file, self.path = file, str(root / file)
        self.tree = ast.parse((root / file).read_text(encoding="utf-8"))
        self.nodes = list(ast.walk(self.tree))
        self.parent = {child: n for n in self.nodes for child in ast.iter_child_nodes(n)}

    def mutants(self) -> Iterator[Mutant]:
        """Every mutant of the module, each with a name of its own."""
        seen: collections.Counter[tuple[str, str]] = collections.Counter()
        for number, node in enumerate(self.nodes):
            if not self._counts(node):
                continue
            above = self._above(node)
            statement = next(n for n in above if isinstance(n, ast.stmt))
            functions = [n for n in above if _encloses(n, above)]
            places = [n for n in above if n in functions or isinstance(n, ast.ClassDef)]
            named = ".".join(n.name for n in reversed(places))  # type: ignore[attr-defined]
            before = _line(statement)
            for variant, other in enumerate(_variants(node)):
                with _Planted(self, node, other):
                    at = other if node is statement else statement
                    change = _difference(before, _line(at))
                seen[named, change] += 1
                if (count := seen[named, change]) > 1:
                    change += f" (number {count})"
                top = functions[-1] if functions else None
                first = top and min(n.lineno for n in (top, *top.decorator_list))  # type: ignore[attr-defined]
                inside = [n.name for n in reversed(places[places.index(top) :])] if top else []  # type: ignore[attr-defined]
                outermost = (".".join(inside), first) if top and first else None
                lines = (statement.lineno, _last_line(statement))
                yield Mutant(self.file, named, change, lines, outermost, number, variant)

    def planted(self, mutant: Mutant) -> object:
        """The compiled module with the fault in it; for a process that ends with it."""
        node = self.nodes[mutant.node]
        _Planted(self, node, _variants(node)[mutant.variant]).__enter__()
        return compile(ast.fix_missing_locations(self.tree), self.path, "exec", dont_inherit=True)

    def _above(self, node: ast.AST) -> list[ast.AST]:
        found = [node]
        while found[-1] in self.parent:
            found.append(self.parent[found[-1]])
        return found[:-1]

    def _counts(self, node: ast.AST) -> bool:
        """Not in annotations, texts, what type checkers alone see, or what only tells."""
        for child in (above := self._above(node)):
            parent = self.parent[child]
            if isinstance(parent, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
                return False
            typed = (getattr(parent, "annotation", None), getattr(parent, "returns", None))
            # Of a type, only what a declaration says beside it: Annotated[int, Field(ge=2)].
            beside = any(isinstance(n, ast.Call) for n in above[: above.index(child)])
            if any(child is one for one in typed) and not beside:
                return False
            if child in getattr(parent, "decorator_list", ()):
                return False
            called = child.value if isinstance(child, ast.Expr) else child
            if isinstance(called, ast.Call) and getattr(called.func, "id", "") in TOLD_ONLY:
                return False
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                return False
        return bool(above)


class _Planted:
    """A tree with another node in the place of one."""

    def __init__(self, source: Source, node: ast.AST, other: ast.AST) -> None:
        parent = source.parent[node]
        for name, value in ast.iter_fields(parent):
            if value is node:
                self.put = lambda new, name=name: setattr(parent, name, new)
            elif isinstance(value, list) and any(item is node for item in value):
                at = next(i for i, item in enumerate(value) if item is node)
                self.put = lambda new, value=value, at=at: value.__setitem__(at, new)
            else:
                continue
            break
        self.node, self.other = node, ast.copy_location(other, node)

    def __enter__(self) -> None:
        self.put(self.other)

    def __exit__(self, *_: object) -> None:
        self.put(self.node)


def _encloses(node: ast.AST, above: list[ast.AST]) -> bool:
    """Whether a node lies in the body of this function, not in its defaults or decorators."""
    return isinstance(node, ast.FunctionDef) and any(n in node.body for n in above)


def _line(statement: ast.AST) -> str:
    """A statement without what it holds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return ast.unparse(statement.args if isinstance(statement, ast.FunctionDef) else statement)
    return ast.unparse(statement).split(":\n")[0].replace("\n", " ")


def _difference(before: str, after: str) -> str:
    """Two texts without what they share, but for a few words around it."""
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    ahead = max(0, start - 40)

    def cut(text: str) -> str:
        stop = len(text) - max(0, end - 20)
        return "..." * (ahead > 0) + text[ahead:stop] + "..." * (stop < len(text))

    return f"{cut(before)} -> {cut(after)}"


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in alike)


def _turned_otherwise(test: ast.expr) -> bool:
    """Whether a swap inside a condition already turns it into its opposite."""
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
    return isinstance(test, ast.UnaryOp)


def _last_line(statement: ast.stmt) -> int:
    body = getattr(statement, "body", None)
    return max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or 0


def _variants(node: ast.AST) -> list[ast.AST]:
    """What may stand in a node's place."""
    match node:
        case ast.Break() | ast.Continue():
            return [SWAPS[type(node)]()]
        case ast.BinOp() if type(node.op) in SWAPS:
            return [ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)]
        case ast.BoolOp():
            return [ast.BoolOp(SWAPS[type(node.op)](), node.values)]
        case ast.Compare():
            each = [[*node.ops] for _ in node.ops]
            for at, ops in enumerate(each):
                ops[at] = SWAPS[type(ops[at])]()
            return [ast.Compare(node.left, ops, node.comparators) for ops in each]
        case ast.Constant(value=bool()):
            return [ast.Constant(not node.value)]
        case ast.Constant(value=int()):
            return [ast.Constant(node.value + 1)]
        case ast.Constant(value=float()):
            return [ast.Constant(node.value * 1.01 or 1.0)]
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub()):
            return [node.operand]
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            return [ast.Name(NAMES[name], ast.Load())]
        case ast.Attribute(attr=name) if name in NAMES:
            return [ast.Attribute(node.value, NAMES[name], node.ctx)]
        case ast.Return(value=ast.expr()) if ast.unparse(node.value) != "None":
            return [ast.Return(ast.Constant(None))]
        case ast.IfExp():
            return [ast.IfExp(node.test, node.orelse, node.body)]
        case ast.If(test=test) | ast.While(test=test) if not _turned_otherwise(test):
            return [type(node)(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]
        case ast.Raise() | ast.AugAssign() | ast.Expr(value=ast.Call()):
            return [ast.Pass()]
        case ast.Slice(upper=ast.expr()):
            return [ast.Slice(node.lower, None, node.step)]
    return []
