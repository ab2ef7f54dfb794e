"""Runs one masking peer on one input, in the peers' own environment, and reports what it took.

    python masking_peer_worker.py microagg1d INPUT.npy OUTPUT.npy '{"k": 5}'

Reading the input and writing the output are not timed. Peers with compiled kernels do the same work
once on a few records before the clock starts. Nothing of Sfumato is imported here, and of the peers
only the one that runs.
"""

from __future__ import annotations

import importlib
import json
import logging
import math
import resource
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from gauge import Gauge

_WARM = 400
_EM_TOLERANCE = 1e-6
_EM_STEPS = 1_000


def microagg1d(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """Optimal groups of one column; which algorithm is left to the package (method="auto")."""
    tool = importlib.import_module("microagg1d")
    values, k = np.load(source), options["k"]
    stable = options["stable"]
    tool.univariate_microaggregation(values[: max(_WARM, 3 * k)], k, stable=stable)
    with gauge:
        labels = tool.univariate_microaggregation(values, k, stable=stable)
    save(labels, target)
    return {}


def pram(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """Post-randomization by the package's own matrices, which are told: from, then to."""
    tool = importlib.import_module("pram")
    frame = _frame(source)[options["columns"]]
    np.random.seed(1)  # the generator that the package draws from
    with gauge:
        out = tool.pram(frame, m=options["m"], alpha=options["alpha"])
    _write(out, target)
    make = tool.Pram.__get_weighted_transition_matrix__
    matrices = {
        name: make(frame[name].to_numpy(), options["m"], options["alpha"]).to_dict()
        for name in options["columns"]
    }
    return {"matrices": matrices}


def suda(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """The fewest columns in which each record is unique, 0 for none of up to `most`."""
    tool = importlib.import_module("suda")
    frame = _frame(source)
    with gauge:
        found = tool.suda(frame, max_msu=options["most"])
    sizes = found["msu"].sort_index().to_numpy(dtype=np.float64, na_value=0.0)
    save(sizes.astype(np.int64), target)
    return {}


def anonymeter(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """One evaluator: success against participants, non-participants and by guessing, and risk."""
    tool = importlib.import_module("anonymeter.evaluators")
    people, others, released = (_frame(options[name]) for name in ("people", "others", "released"))
    np.random.seed(1)  # the generator that pandas draws the targets from

    def work(attacks: int, rows: int) -> Any:
        given = (people[:rows], released[:rows])
        more = {"n_attacks": attacks, "control": others[:rows]}
        if options["evaluator"] == "linkability":
            found = tool.LinkabilityEvaluator(*given, aux_cols=options["known"], **more)
        elif options["evaluator"] == "inference":
            aside = [name for name in people.columns if name != options["secret"]]
            found = tool.InferenceEvaluator(
                *given, aux_cols=aside, secret=options["secret"], **more
            )
        else:
            found = tool.SinglingOutEvaluator(*given, n_cols=options["n_cols"], seed=1, **more)
            return found.evaluate(mode="multivariate")
        return found.evaluate(n_jobs=1)

    work(10, _WARM)
    with gauge:
        done = work(options["attacks"], len(people))
        risk = done.risk()
    rates = done.results()
    return {
        "risk": float(risk.value),
        "interval": [float(end) for end in risk.ci],
        "success": float(rates.n_success) / options["attacks"],
        "guessing": float(rates.n_baseline) / options["attacks"],
        "strangers": float(rates.n_control) / options["attacks"],
    }


def recordlinkage(
    source: str, target: str, options: dict[str, Any], gauge: Gauge
) -> dict[str, Any]:
    """All pairs, exact agreement, ECM, and for each original the pairs of highest probability."""
    import pandas as pd

    tool = importlib.import_module("recordlinkage")
    both = np.load(source)
    names = [f"c{j}" for j in range(both.shape[2])]
    original, masked = (pd.DataFrame(codes, columns=names) for codes in both)
    with gauge:
        index = tool.Index()
        index.full()
        pairs = index.index(original, masked)
        compare = tool.Compare()
        for name in names:
            compare.exact(name, name, label=name)
        agrees = compare.compute(pairs, original, masked)
        model = tool.ECMClassifier(init="jaro", max_iter=_EM_STEPS, atol=_EM_TOLERANCE)
        model.fit(agrees)
        chance = model.prob(agrees)
        # Equal patterns have equal probabilities, so that ties are exact.
        best = chance[chance == chance.groupby(level=0).transform("max")]
        mine, theirs = (best.index.get_level_values(side).to_numpy() for side in (0, 1))
    return {
        "m": [float(model.m_probs[name][1]) for name in names],
        "u": [float(model.u_probs[name][1]) for name in names],
        "share": float(model.p),
        "right": _right(mine, theirs, len(original)),
    }


def splink(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """All pairs in DuckDB, exact agreement, EM of m, u and the share, and the best pairs."""
    import pandas as pd

    tool = importlib.import_module("splink")
    library = importlib.import_module("splink.comparison_library")
    both = np.load(source)
    names = [f"c{j}" for j in range(both.shape[2])]
    original, masked = (
        pd.DataFrame(codes, columns=names).assign(unique_id=np.arange(len(codes))) for codes in both
    )
    with gauge:
        database = tool.DuckDBAPI()
        settings = tool.SettingsCreator(
            link_type="link_only",
            comparisons=[library.ExactMatch(name) for name in names],
            blocking_rules_to_generate_predictions=["1=1"],
            retain_matching_columns=False,
            em_convergence=_EM_TOLERANCE,
            max_iterations=_EM_STEPS,
        )
        files = [
            database.register(frame, dataset_display_name=label)
            for label, frame in (("original", original), ("published", masked))
        ]
        linker = tool.Linker(files, settings, log_level=logging.ERROR)
        linker.training.estimate_parameters_using_expectation_maximisation(
            "1=1",
            # Counts patterns, not pairs: the same estimates, sooner, as no frequencies adjust them.
            estimate_without_term_frequencies=True,
            fix_u_probabilities=False,
            populate_probability_two_random_records_match_from_trained_values=True,
        )
        scored = linker.inference.predict()
        # "original" comes before "published", so that it is the left side of every pair. Equal
        # patterns have equal weights up to rounding.
        best = database._con.sql(
            f"SELECT unique_id_l, unique_id_r FROM {scored.physical_name} "
            "QUALIFY match_weight > max(match_weight) OVER (PARTITION BY unique_id_l) - 1e-9"
        ).fetchnumpy()
    model = linker.misc.save_model_to_json()
    levels = [_agreement(comparison) for comparison in model["comparisons"]]
    return {
        "m": [level["m_probability"] for level in levels],
        "u": [level["u_probability"] for level in levels],
        "share": model["probability_two_random_records_match"],
        "right": _right(best["unique_id_l"], best["unique_id_r"], len(original)),
    }


def _agreement(comparison: dict[str, Any]) -> dict[str, Any]:
    """The level of a comparison at which both values are equal."""
    for level in comparison["comparison_levels"]:
        if level["label_for_charts"].startswith("Exact match"):
            return dict(level)
    raise LookupError(f"no level of agreement in {comparison}")


def _right(mine: np.ndarray, theirs: np.ndarray, records: int) -> float:
    """Share of records whose best pair is their own; one of t equally good ones counts 1/t."""
    ties = np.bincount(mine, minlength=records)
    own = np.zeros(records)
    own[mine[mine == theirs]] = 1.0
    return float(np.mean(own / np.maximum(ties, 1)))


def save(values: np.ndarray, target: str) -> None:
    """An array, in a file of exactly that name."""
    with Path(target).open("wb") as file:
        np.save(file, values)


def _frame(path: str) -> Any:
    import pyarrow as pa
    import pyarrow.ipc

    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all().to_pandas()


def _write(frame: Any, target: str) -> None:
    import pyarrow as pa
    import pyarrow.ipc

    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_file(target, table.schema) as sink:
        sink.write_table(table)


Work = Callable[[str, str, dict[str, Any], Gauge], dict[str, Any]]
TOOLS: dict[str, tuple[Work, tuple[str, ...]]] = {
    # what runs, and what beside the peer itself may decide its speed
    "microagg1d": (microagg1d, ("numpy", "numba")),
    "pram": (pram, ("numpy", "pandas")),
    "suda": (suda, ("numpy", "pandas")),
    "anonymeter": (anonymeter, ("numpy", "pandas", "polars", "numba")),
    "recordlinkage": (recordlinkage, ("numpy", "pandas")),
    "splink": (splink, ("duckdb",)),
}


def bound_memory(gibibytes: float) -> None:
    """Fail with a MemoryError rather than take the machine's last memory."""
    most = math.floor(gibibytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def main() -> None:
    name, source, target, words = sys.argv[1:5]
    options = json.loads(words)
    bound_memory(options["gibibytes"])
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    work, beside = TOOLS[name]
    # Imported before the baseline is taken, as every contender's own code is.
    importlib.import_module("anonymeter.evaluators" if name == "anonymeter" else name)
    for module in ("pandas", "pyarrow.ipc"):
        if Path(source).suffix == ".arrow" or name in ("recordlinkage", "splink"):
            importlib.import_module(module)
    gauge = Gauge()
    try:
        found = work(source, target, options, gauge)
    except Exception as error:
        # DuckDB's errors end with an address, and the last line is what the table shows.
        if isinstance(error, MemoryError) or "Out of Memory" in str(error):
            sys.exit(f"out of memory ({options['gibibytes']:g} GiB at most)")
        raise
    gauge.report(versions={one: version(one) for one in (name, *beside)}, **found)


if __name__ == "__main__":
    main()
