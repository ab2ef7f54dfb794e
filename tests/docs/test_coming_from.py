"""What the page for users of other tools names exists, and what those tools have is on it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import sfumato as sf
from sfumato.cli.app import app
from sfumato.declaration import Declaration
from sfumato.errors import UnknownName
from sfumato.registry import find
from sfumato.release.plan.requirement import parse_requirement

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text("utf-8")
CODE = re.compile(r"`([^`]+)`")
WORDS = ("role", "kind", "poset")
"""What `[columns]` says of a column."""
SDCMICRO = """
strataVar<- AI_applyAnonymization AI_createSdcObj KI_createSdcObj IL_correl IL_variables
LocalRecProg LLmodGlobalRisk addGhostVars addNoise argus_microaggregation argus_rankswap calcRisks
createDat createNewID createSdcObj dRisk dRiskRMD dUtility dataGen extractManipData freq freqCalc
generateStrata get.sdcMicroObj globalRecode groupAndRename groupVars importProblem indivRisk
infoLoss kAnon kAnon_violations ldiversity localSupp localSupp2 localSupp2Wrapper localSuppression
ls_aggregate ls_check ls_greedy2 ls_hub ls_lns ls_minuc ls_optimal ls_solvers ls_supp_subset
ls_target mafast measure_risk mergeHouseholdData microaggrGower microaggregation modRisk mvTopCoding
nextSdcObj plot.localSuppression plotMicro pram pram_strata rankSwap readMicrodata
reconstructionRisk recordLinkage recordSwap removeDirectID renameVars report riskyCells sdcApp
selectHouseholdData set.sdcMicroObj shuffle solve_milp suda2 swappNum topBotCoding undolast valTable
varToFactor varToNumeric writeSafeFile
"""
"""What the NAMESPACE files of sdcMicro export, old and new."""
ARX = """
KAnonymity KMap DistinctLDiversity EntropyLDiversity RecursiveCLDiversity EqualDistanceTCloseness
HierarchicalDistanceTCloseness OrderedDistanceTCloseness DPresence BasicBLikeness EnhancedBLikeness
DDisclosurePrivacy AverageReidentificationRisk PopulationUniqueness SampleUniqueness
ProfitabilityProsecutor ProfitabilityJournalist ProfitabilityProsecutorNoAttack
ProfitabilityJournalistNoAttack EDDifferentialPrivacy DataDependentEDDifferentialPrivacy
MinimumKeySize Inclusion createAECSMetric createAmbiguityMetric createClassificationMetric
createDiscernabilityMetric createEntropyBasedInformationLossMetric createEntropyMetric
createHeightMetric
createKLDivergenceMetric createLossMetric createNormalizedEntropyMetric createPrecisionMetric
createPublisherPayoutMetric createStaticMetric
"""
"""The privacy models of ARX, and the metrics that it makes."""


def rows() -> Iterator[tuple[str, str, str]]:
    """Of each row of a table: the header, what the others have, and what is said of ours."""
    header = ""
    for line in PAGE.splitlines():
        if not line.startswith("|"):
            header = ""
        elif not header:
            header = line
        elif not line.startswith("|---"):
            theirs, ours = line.strip("|").split("|", 1)
            yield header, theirs, ours


ROWS = list(rows())


def declared(name: str) -> type[Declaration] | None:
    try:
        return find(name).load()  # type: ignore[no-any-return]
    except UnknownName:
        return None


def command(words: list[str]) -> None:
    """A command line: its command, and its options, exist."""
    group: Any = typer.main.get_command(app)
    while words and words[0] in getattr(group, "commands", {}):
        group = group.commands[words.pop(0)]
    assert group.name != "sfumato", words
    options = {option for parameter in group.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, words


def plan_line(code: str, thing: type[Declaration] | None) -> None:
    """A line of a plan: of `[require]`, of a column, or a parameter of the thing just named."""
    name = code.split("=")[0].strip()
    said = tomllib.loads(code)
    if thing is not None and name.replace("-", "_") in thing.model_fields:
        wrong = [one for one in thing.complaints(said) if one.where.split(".")[0] in said]
        assert not wrong, (code, wrong)
    elif name in WORDS:
        assert sf.Plan.parse(f"[columns]\nx = {{ {code} }}").columns["x"], code
    else:
        assert not parse_requirement(name, said[name])[1], code


def check(code: str, thing: type[Declaration] | None) -> type[Declaration] | None:
    """That something in code font exists; what it names, for parameters that follow."""
    root = re.match(r"(sf|release|plan)\.(\w+)", code)
    if code.startswith("sfumato "):
        command(code.split()[1:])
    elif root:
        owner: Any = {"sf": sf, "release": sf.Release, "plan": sf.Plan}[root[1]]
        known = {*dir(owner), *getattr(owner, "__dataclass_fields__", ())}
        assert root[2] in known, code
    elif code.startswith("["):
        assert sf.Plan.parse(code.replace("] ", "]\n", 1)), code
    elif "=" in code:
        plan_line(code, thing)
    elif (found := declared(code)) is not None:
        return found
    else:
        assert thing is not None, f"there is no {code}"
        assert code in thing.model_fields, f"there is no {code}"
    return thing


@pytest.mark.parametrize(("header", "theirs", "ours"), ROWS, ids=[row[1].strip() for row in ROWS])
def test_what_is_ours_exists(header: str, theirs: str, ours: str) -> None:
    thing = None
    for code in CODE.findall(header):
        thing = check(code, thing)
    found = CODE.findall(ours)
    assert found or ours.strip().startswith("not here"), f"nothing is said of {theirs}"
    for code in found:
        thing = check(code, thing)


def test_what_is_not_here_says_why() -> None:
    for _, theirs, ours in ROWS:
        cells = [cell.strip() for cell in ours.strip("|").split("|")]
        if cells[0] == "not here":
            assert cells[1], f"nothing says why there is no {theirs}"


@pytest.mark.parametrize("name", [*SDCMICRO.split(), *ARX.split()])
def test_everything_they_have_is_named(name: str) -> None:
    assert any(name in CODE.findall(theirs) for _, theirs, _ in ROWS)
