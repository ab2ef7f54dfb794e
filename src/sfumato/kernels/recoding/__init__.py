"""Local recoding: a local search over groups and their least upper bounds."""

from __future__ import annotations

from ._rules import DISTINCT as DISTINCT
from ._rules import ENTROPY as ENTROPY
from ._rules import EQUAL as EQUAL
from ._rules import MOST_CODES as MOST_CODES
from ._rules import ORDERED as ORDERED
from ._rules import Rules as Rules
from ._rules import make_rules as make_rules
from ._search import PLACES as PLACES
from ._search import Records as Records
from ._search import Search as Search
from ._search import begin as begin
from ._search import best_labels as best_labels
from ._search import compile_search as compile_search
from ._search import construct as construct
from ._search import cut_down as cut_down
from ._search import epoch as epoch
from ._search import epoch_steps as epoch_steps
from ._search import partners as partners
from ._search import records as records
from ._search import split as split
from ._search import workers as workers
from ._start import total_cost as total_cost
