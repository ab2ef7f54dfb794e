"""What an engine cannot run of a plan, all of it named before the first step.

Nothing falls back in secret: a plan runs as it stands, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...data.schema import Kind, Role, Schema
from ...engines.renumbered import NOW, OTHER, WHOSE
from ...errors import Complaint, ParameterError, PlanError
from ...protocols import Criterion, Declaration, Engine, Measure, Partitioner
from ...registry import Entry, entries
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE, Requirement
from ..plan.step import Step

NOT_OF_A_SAMPLE = "counts what is alike in the release, and in a sample too little is"
STREAMED = ("csv", "tsv", "parquet", "parts")
"""What is written without having all records in memory."""
_LOCAL = 'or [engine] use = "local", where the records fit into memory'
_INPUT = {
    "given": "releases that are public already are joined in memory",
    "reference": "people who are not in the data are held in memory",
    "sets": "sets are put together in memory: give a column of lists",
    "sentinels": "numbers and words that mean missing are taken out in memory: make them null",
}


def check_gaps(plan: Plan, schema: Schema) -> None:
    """Raise everything at once that the plan's engine cannot run, each with what to use instead."""
    _raise(plan, gaps(plan, schema))


def check_table_gaps(plan: Plan) -> None:
    """The same of a plan that makes a table; nothing has to be read for it."""
    _raise(plan, table_gaps(plan))


def _raise(plan: Plan, found: Iterable[Complaint]) -> None:
    if complaints := list(found):
        raise PlanError(f"the plan on the engine {plan.engine.name}", complaints)


def gaps(plan: Plan, schema: Schema) -> Iterator[Complaint]:
    """What the engine cannot run."""
    if plan.engine.in_memory:
        return
    yield from _of_input(plan)
    for index, step in enumerate(plan.steps):
        if why := step_gap(step, plan.engine):
            # What other parameters would help comes behind a colon.
            what, _, hint = why.partition(": ")
            remedy = f"{hint}, {_LOCAL}" if hint else _instead(step.use, plan.engine)
            yield Complaint(f"step {index + 1} ({step.use.name})", what, remedy)
    for name in (OTHER, WHOSE, NOW):
        if name in schema:
            yield Complaint(name, "its name is one that engines use", "rename it")
    for column, other in _alike(schema):
        what = f"is {other!r} but for its letters' case, which databases do not tell apart"
        yield Complaint(column, what, "rename one of them")
    published = schema.only([c.name for c in schema if c.role != Role.HOUSEHOLD])
    for requirement in plan.requirements:
        if why := requirement_gap(requirement, plan.engine, published):
            name = f"[require] {requirement.name}"
            yield Complaint(name, why, _instead(requirement.thing, plan.engine))
    for measure in plan.measures or ():
        if why := measure_gap(measure, plan.engine):
            yield Complaint(f"[measures] {measure.name}", why, f"leave it out, {_LOCAL}")
    if plan.table is not None:
        yield Complaint("[table]", "masks no records", "sfumato protect PLAN adds it up")
    yield from _of_output(plan, schema)


def table_gaps(plan: Plan) -> Iterator[Complaint]:
    """What the engine cannot do of a table: its records are added up where they are, and cells are
    protected in memory."""
    if plan.engine.in_memory:
        return
    yield from _of_input(plan)
    if plan.table is not None and plan.table.cells:
        what = "is a file of cells, and no records are added up"
        yield Complaint("[table] cells", what, '[engine] use = "local"')


def _alike(schema: Schema) -> Iterator[tuple[str, str]]:
    """Columns that records are counted by and whose names are the same to a database."""
    seen: dict[str, str] = {}
    for column in schema:
        if column.role != Role.INSENSITIVE:
            other = seen.setdefault(column.name.casefold(), column.name)
            if other != column.name:
                yield column.name, other


def _of_input(plan: Plan) -> Iterator[Complaint]:
    for name, why in _INPUT.items():
        if getattr(plan.input, name):
            yield Complaint(f"[input] {name}", why, f"leave it out, {_LOCAL}")
    for name in ("tune", "map"):
        if getattr(plan, name) is not None:
            yield Complaint(f"[{name}]", "is run in memory", f"leave it out, {_LOCAL}")


def _of_output(plan: Plan, schema: Schema) -> Iterator[Complaint]:
    output = plan.output
    if output.format not in STREAMED:
        why = f"{output.format} is written from memory"
        yield Complaint("[output] format", why, f"one of {', '.join(STREAMED)}")
    sets = [column.name for column in schema if column.kind == Kind.SET]
    if sets and output.format in ("csv", "tsv"):
        why = f"sets ({', '.join(sets)}) become text by what all of them hold"
        yield Complaint("[output] format", why, "parts or parquet")


def step_gap(step: Step, engine: Engine) -> str:
    """Why a step does not run on an engine; "" where it does."""
    for part in step.parts:
        if why := engine.gaps.get(part.name, ""):
            return why
    return step.use.local_only() or ("" if step.then is None else step.then.local_only())


def requirement_gap(requirement: Requirement, engine: Engine, schema: Schema) -> str:
    """Why a requirement cannot be counted by an engine."""
    thing = requirement.thing
    if isinstance(thing, Measure) and thing.costly:
        return "attacks the whole release, in memory"
    if why := engine.gaps.get(thing.name, ""):
        return why
    if isinstance(thing, Criterion):
        return thing.gap(schema)
    if why := measure_gap(thing, engine):
        return why
    if thing.name == EXPOSURE or thing.by_counts:
        return thing.uncounted(schema)
    # Risks too: predictions are poorer from few records, and units and ranks that linkage goes by
    # are others, so that a sample may look safe where the whole is not.
    return "is known of a sample alone, which is no promise of all records"


def measure_gap(measure: Measure, engine: Engine) -> str:
    """Why a measure cannot be taken by an engine."""
    if why := engine.gaps.get(measure.name, ""):
        return why
    known = measure.name == EXPOSURE or measure.by_counts
    return "" if known or of_a_sample(measure) else NOT_OF_A_SAMPLE


def of_a_sample(measure: Measure) -> bool:
    """Whether a sample of records tells something of its figure: not where records are counted that
    look alike, of which a sample has too few, or where anybody can count it on all that is
    published."""
    return not measure.counts_classes and measure.depends != "release"


def _instead(thing: Declaration, engine: Engine) -> str:
    """What runs and is nearest to it: of the same kind, and from the same corner of the library."""
    if isinstance(thing, Measure) and thing.costly:
        return f"leave it out, and attack the saved release (sfumato attack), {_LOCAL}"
    own = type(thing).__module__.split(".")

    def apart(entry: Entry) -> int:
        other = entry.target.partition(":")[0].split(".")
        shared = [a == b for a, b in zip(own, other, strict=False)]
        return -(shared.index(False) if False in shared else len(shared))

    of_sets = getattr(thing, "kinds", ()) == (Kind.SET,)
    others = (e for e in entries(thing.registry_kind) if e.name != thing.name)
    runs = [
        entry
        for entry in others
        if runs_as_it_comes(entry, engine)
        # Sets are for sets; and of limits, only those help that can be kept.
        and (getattr(entry.load(), "kinds", ()) == (Kind.SET,)) == of_sets
        and (not isinstance(thing, Measure) or entry.load().by_counts)
    ]
    near = sorted(runs, key=apart)[:3]
    names = ", ".join(entry.name for entry in near)
    return f"{names}, {_LOCAL}" if names else _LOCAL.removeprefix("or ")


def runs_as_it_comes(entry: Entry, engine: Engine) -> bool:
    """Whether an engine runs a thing with its usual parameters."""
    cls = entry.load()
    if engine.in_memory:
        return True
    if entry.name in engine.gaps:
        return False
    if issubclass(cls, Criterion):
        return cls.on_parts is not None
    try:
        thing = cls.build(cls.example)
    except ParameterError:  # it has parameters that must be given
        thing = cls.model_construct()
    if isinstance(thing, Measure):
        return not measure_gap(thing, engine)
    if isinstance(thing, Partitioner):
        return not step_gap(Step(thing), engine)
    return not thing.local_only()
