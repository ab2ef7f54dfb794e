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
    "Plan": "release.plan",
    "Step": "release.step",
    "Release": "release.release",
    "Evidence": "release.evidence",
    "protect": "release.run",
    "tune": "explore.tune",
    "risk_utility_map": "explore.risk_utility",
    "kernel_components": "explore.components",
    "information_report": "explore.information",
    "reference_split": "data.splitting",
    "from_marginals": "data.marginals",
    "SetTable": "data.sets",
    "enumerate_sets": "data.enumeration",
    "OnDemand": "anonymity.sets.on_demand",
    "joined_codes": "data.joined_codes",
    "model_ready": "data.model_ready",
    "impute": "models.impute",
    "audit_j_anonymity": "anonymity.j_audit",
    "sql_recount": "release.sql_recount",
    "recover": "release.recover",
    "combine": "data.combining",
    "Combined": "data.combining",
    "camouflage": "methods.camouflage",
    "Camouflaged": "methods.camouflage",
    "CellTable": "tabular.cells",
    "TableRelease": "release.table_release",
    "tabulate": "release.table_run",
    "from_cells": "tabular.given",
    "protect_table": "release.table_run",
    "rule": "release.table_run",
    "table_method": "release.table_run",
    "audit_table": "release.table_audit",
    "method": "release.api",
    "step": "release.api",
    "partition": "release.api",
    "measure": "release.api",
    "assess": "release.api",
    "attack": "release.api",
    "register": "registry",
    "draft_plan": "release.draft",
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
    from .data.enumeration import enumerate_sets
    from .data.io import read, write
    from .data.joined_codes import joined_codes
    from .data.marginals import from_marginals
    from .data.model_ready import model_ready
    from .data.pair import Pair
    from .data.partition import Cover, Partition
    from .data.schema import Column, Kind, Role, Schema
    from .data.sets import SetTable
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
    from .release.draft import draft_plan
    from .release.evidence import Evidence
    from .release.plan import Plan
    from .release.recover import recover
    from .release.release import Release
    from .release.run import protect
    from .release.sql_recount import sql_recount
    from .release.step import Step
    from .release.table_audit import audit_table
    from .release.table_release import TableRelease
    from .release.table_run import protect_table, rule, table_method, tabulate
    from .tabular.cells import CellTable
    from .tabular.given import from_cells

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
