"""Sfumato makes data about people publishable.

    import sfumato as sf

    table = sf.read("register.csv", quasi=["age", "sex", "zip"], confidential=["diagnosis"])
    release = sf.protect(table, sf.method("mdav", k=5))
    release.evidence["record-linkage"]
    release.save("release")

Names are loaded when they are first used, so that `import sfumato` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

_WHERE = {
    "read": "data.io",
    "write": "data.io",
    "table": "data.table",
    "Table": "data.table",
    "Schema": "data.schema",
    "Column": "data.schema",
    "Kind": "data.schema",
    "Role": "data.schema",
    "Partition": "data.partition",
    "Cover": "data.partition",
    "Pair": "data.pair",
    "Method": "protocols",
    "Partitioner": "protocols",
    "Verb": "protocols",
    "Measure": "protocols",
    "Attack": "protocols",
    "Criterion": "protocols",
    "Poset": "protocols",
    "PosetSource": "protocols",
    "Outcome": "protocols",
    "Context": "protocols",
    "Measurement": "protocols",
    "Finding": "protocols",
    "Plan": "release.plan.plan",
    "Step": "release.plan.step",
    "Release": "release.records.release",
    "Evidence": "release.records.evidence",
    "protect": "release.records.run",
    "tune": "explore.tune",
    "risk_utility_map": "explore.risk_utility",
    "kernel_components": "explore.components",
    "information_report": "explore.information",
    "reference_split": "data.splitting",
    "from_marginals": "data.marginals",
    "SetTable": "data.sets.table",
    "enumerate_sets": "data.sets.enumeration",
    "OnDemand": "anonymity.sets.on_demand",
    "joined_codes": "data.generalized.joined_codes",
    "model_ready": "data.generalized.model_ready",
    "impute": "models.impute",
    "audit_j_anonymity": "anonymity.j_audit",
    "sql_recount": "release.sql_recount",
    "recover": "release.records.recover",
    "combine": "data.combining",
    "Combined": "data.combining",
    "camouflage": "methods.camouflage",
    "Camouflaged": "methods.camouflage",
    "CellTable": "tabular.cells.table",
    "TableRelease": "release.tables.release",
    "tabulate": "release.tables.run",
    "from_cells": "tabular.cells.given",
    "protect_table": "release.tables.run",
    "rule": "release.tables.run",
    "table_method": "release.tables.run",
    "audit_table": "release.tables.audit",
    "method": "release.api",
    "step": "release.api",
    "partition": "release.api",
    "measure": "release.api",
    "assess": "release.api",
    "attack": "release.api",
    "register": "registry",
    "draft_plan": "release.plan.draft",
    "SfumatoError": "errors",
    "ReleaseRefused": "errors",
}
_MODULES = {"generators": "data.generators", "errors": "errors", "registry": "registry"}

if TYPE_CHECKING:
    from . import errors, registry
    from .anonymity.j_audit import audit_j_anonymity
    from .anonymity.sets.on_demand import OnDemand
    from .data import generators
    from .data.combining import Combined, combine
    from .data.generalized.joined_codes import joined_codes
    from .data.generalized.model_ready import model_ready
    from .data.io import read, write
    from .data.marginals import from_marginals
    from .data.pair import Pair
    from .data.partition import Cover, Partition
    from .data.schema import Column, Kind, Role, Schema
    from .data.sets.enumeration import enumerate_sets
    from .data.sets.table import SetTable
    from .data.splitting import reference_split
    from .data.table import Table, table
    from .errors import ReleaseRefused, SfumatoError
    from .explore.components import kernel_components
    from .explore.information import information_report
    from .explore.risk_utility import risk_utility_map
    from .explore.tune import tune
    from .methods.camouflage import Camouflaged, camouflage
    from .models.impute import impute
    from .protocols import (
        Attack,
        Context,
        Criterion,
        Finding,
        Measure,
        Measurement,
        Method,
        Outcome,
        Partitioner,
        Poset,
        PosetSource,
        Verb,
    )
    from .registry import register
    from .release.api import assess, attack, measure, method, partition, step
    from .release.plan.draft import draft_plan
    from .release.plan.plan import Plan
    from .release.plan.step import Step
    from .release.records.evidence import Evidence
    from .release.records.recover import recover
    from .release.records.release import Release
    from .release.records.run import protect
    from .release.sql_recount import sql_recount
    from .release.tables.audit import audit_table
    from .release.tables.release import TableRelease
    from .release.tables.run import protect_table, rule, table_method, tabulate
    from .tabular.cells.given import from_cells
    from .tabular.cells.table import CellTable

__all__ = [
    "Attack",
    "Camouflaged",
    "CellTable",
    "Column",
    "Combined",
    "Context",
    "Cover",
    "Criterion",
    "Evidence",
    "Finding",
    "Kind",
    "Measure",
    "Measurement",
    "Method",
    "OnDemand",
    "Outcome",
    "Pair",
    "Partition",
    "Partitioner",
    "Plan",
    "Poset",
    "PosetSource",
    "Release",
    "ReleaseRefused",
    "Role",
    "Schema",
    "SetTable",
    "SfumatoError",
    "Step",
    "Table",
    "TableRelease",
    "Verb",
    "assess",
    "attack",
    "audit_j_anonymity",
    "audit_table",
    "camouflage",
    "combine",
    "draft_plan",
    "enumerate_sets",
    "errors",
    "from_cells",
    "from_marginals",
    "generators",
    "impute",
    "information_report",
    "joined_codes",
    "kernel_components",
    "measure",
    "method",
    "model_ready",
    "partition",
    "protect",
    "protect_table",
    "read",
    "recover",
    "reference_split",
    "register",
    "registry",
    "risk_utility_map",
    "rule",
    "sql_recount",
    "step",
    "table",
    "table_method",
    "tabulate",
    "tune",
    "write",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _WHERE:
        found = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    elif name in _MODULES:
        found = importlib.import_module(f".{_MODULES[name]}", __name__)
    elif name == "__version__":
        from importlib.metadata import version

        found = version("sfumato")
    else:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
