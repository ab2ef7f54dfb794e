# Made by `make docs`; edit the .py beside it instead.
from . import errors as errors
from . import registry as registry
from . import things as things
from .data import generators as generators
from .data.io import read as read
from .data.io import write as write
from .data.partition import Cover as Cover
from .data.partition import Partition as Partition
from .data.schema import Column as Column
from .data.schema import Kind as Kind
from .data.schema import Role as Role
from .data.schema import Schema as Schema
from .data.table import Table as Table
from .data.table import table as table
from .errors import ReleaseRefused as ReleaseRefused
from .errors import SfumatoError as SfumatoError
from .explore.compare import compare as compare
from .explore.risk_utility import risk_utility_map as risk_utility_map
from .explore.tune import tune as tune
from .protocols import Attack as Attack
from .protocols import Context as Context
from .protocols import Criterion as Criterion
from .protocols import Finding as Finding
from .protocols import Measure as Measure
from .protocols import Measurement as Measurement
from .protocols import Method as Method
from .protocols import Outcome as Outcome
from .protocols import Partitioner as Partitioner
from .protocols import Poset as Poset
from .protocols import PosetSource as PosetSource
from .protocols import Verb as Verb
from .registry import register as register
from .release.api import assess as assess
from .release.api import attack as attack
from .release.api import audit as audit
from .release.api import measure as measure
from .release.api import method as method
from .release.api import partition as partition
from .release.api import protect as protect
from .release.api import step as step
from .release.plan.draft import draft_plan as draft_plan
from .release.plan.plan import Plan as Plan
from .release.plan.step import Step as Step
from .release.records.evidence import Evidence as Evidence
from .release.records.recover import recover as recover
from .release.records.recovered_tree import recover_tree as recover_tree
from .release.records.release import Release as Release
from .release.tables.release import TableRelease as TableRelease
from .release.tables.run import tabulate as tabulate
from .tabular.base import Rule as Rule
from .tabular.base import TableMethod as TableMethod
from .tabular.cells.given import from_cells as from_cells
from .tabular.cells.table import CellTable as CellTable

__version__: str
_MODULES: dict[str, str]
_WHERE: dict[str, str]
