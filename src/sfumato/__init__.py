"""Sfumato makes data about people publishable.

    import sfumato as sf

    table = sf.read("register.csv", quasi=["age", "sex", "zip"], confidential=["diagnosis"])
    release = sf.protect(table, sf.method("mdav", k=5))
    release.evidence["record-linkage"]
    release.save("release")

Names are loaded when they are first used, so that `import sfumato` is quick. They are listed in
docs/reference/public.md. Editors and type checkers see them in `__init__.pyi`, which `make docs`
writes from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "data.io": "read write",
    "data.table": "table Table",
    "data.schema": "Schema Column Kind Role",
    "data.partition": "Partition Cover",
    "tabular.cells.table": "CellTable",
    "tabular.cells.given": "from_cells",
    "release.tables.run": "tabulate",
    "release.api": "method step partition protect measure assess audit",
    "release.red_team": "attack",
    "release.verify": "verify",
    "release.plan.draft": "draft_plan",
    "release.plan.plan": "Plan",
    "release.plan.step": "Step",
    "release.records.release": "Release",
    "release.tables.release": "TableRelease",
    "release.records.evidence": "Evidence",
    "release.records.recover": "recover",
    "release.records.recovered_tree": "recover_tree",
    "explore.advise": "advise",
    "explore.tune": "tune",
    "explore.risk_utility": "risk_utility_map",
    "explore.compare": "compare",
    "explore.lattice": "lattice",
    "explore.hierarchies": "hierarchy",
    "registry": "register",
    "protocols": "Method Partitioner Verb Measure Attack Criterion Poset PosetSource "
    "Context Outcome Measurement Finding",
    "tabular.base": "Rule TableMethod",
    "errors": "SfumatoError ReleaseRefused",
}
"""The public names by the module that they live in."""
_MODULES = {
    "things": "things",
    "generators": "data.generators",
    "errors": "errors",
    "registry": "registry",
}
_ROOMS = {
    "anonymity.population.j_audit": "audit_j_anonymity",
    "anonymity.sets.on_demand": "OnDemand",
    "data.combining": "combine Combined",
    "data.sets.enumeration": "enumerate_sets",
    "data.generalized.joined_codes": "joined_codes",
    "data.generators.marginals": "from_marginals",
    "data.generalized.model_ready": "model_ready",
    "data.pair": "Pair",
    "data.sets.table": "SetTable",
    "data.people.participants": "reference_split",
    "explore.components": "kernel_components",
    "explore.information": "information_report",
    "methods.recoding.camouflage": "camouflage Camouflaged",
    "models.impute": "impute",
    "release.sql_recount": "sql_recount",
}
"""Names for specialists, which were public once and are imported from their modules."""
_RENAMED = {
    "protect_table": "sf.protect(table, method, rules=[...])",
    "audit_table": "sf.audit(table, hidden, rules=[...])",
    "rule": "sf.method(name, ...)",
    "table_method": "sf.method(name, ...)",
}

_WHERE = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = sorted((*_WHERE, *_MODULES))


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        found = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    elif name in _MODULES:
        found = import_module(f".{_MODULES[name]}", __name__)
    elif name == "__version__":
        from importlib.metadata import version

        found = version("sfumato")
    else:
        raise AttributeError(_where_it_went(name))
    globals()[name] = found
    return found


def _where_it_went(name: str) -> str:
    if name in _RENAMED:
        return f"sf.{name} is now {_RENAMED[name]}"
    for module, names in _ROOMS.items():
        if name in names.split():
            return f"sf.{name} is now `from sfumato.{module} import {name}`"
    return f"module 'sfumato' has no attribute {name!r}"


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, "__version__"})
