"""Runs anonymeter on releases, in its own environment, and reports what it found and took.

    python attacks_peer_worker.py REQUESTS.json

The file holds a list of requests, all worked off by one process. Each has the parquet files
`original`, `released` and `control`, a `seed`, the number of `attacks` and a list of `tasks`:

    {"task": "singling-out-univariate"}
    {"task": "singling-out-multivariate", "columns": 4}
    {"task": "linkability", "sides": [["age", "sex"], ["pay"]]}
    {"task": "inference", "secret": "pay", "known": ["age", "sex"]}

The last line of output is JSON: for each request its answers, in the order of its tasks, with the
success against people of the data, people held out and by guessing, the risk with its 95 % interval
and the wall and CPU seconds of the evaluation. Reading is not timed, nor is compilation: every task
is done once on a few records before the clock starts. Nothing of Sfumato is imported here.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from gauge import Gauge

_WARM, _WARM_ATTACKS = 400, 10
_RATES = {"success": "attack_rate", "control": "control_rate", "baseline": "baseline_rate"}
Frames = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


class Said(logging.Handler):
    """What the package logs while it works: whether it found fewer predicates than asked."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.words: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.words.append(record.getMessage())


def evaluate(frames: Frames, task: dict[str, Any], attacks: int, seed: int) -> Any:
    """One evaluator, after its work."""
    original, released, control = frames
    np.random.seed(seed)  # the generator that pandas draws the targets from
    more = {"n_attacks": attacks, "control": control}
    name = task["task"]
    if name == "linkability":
        sides = tuple(task["sides"])
        return LinkabilityEvaluator(original, released, aux_cols=sides, **more).evaluate(n_jobs=1)
    if name == "inference":
        secret = task["secret"]
        # Left to itself it takes numbers for words, which are right only if equal.
        number = pd.api.types.is_numeric_dtype(original[secret])
        return InferenceEvaluator(
            original, released, aux_cols=task["known"], secret=secret, regression=number, **more
        ).evaluate(n_jobs=1)
    mode = name.removeprefix("singling-out-")
    more |= {"n_cols": task["columns"]} if "columns" in task else {}
    more |= {"max_attempts": task["attempts"]} if "attempts" in task else {}
    return SinglingOutEvaluator(original, released, seed=seed, **more).evaluate(mode=mode)


def answer(frames: Frames, task: dict[str, Any], attacks: int, seed: int) -> dict[str, Any]:
    """What one evaluator found, and what it took."""
    first = tuple(frame[:_WARM] for frame in frames)
    evaluate(first, task, _WARM_ATTACKS, seed)  # type: ignore[arg-type]
    said, gauge = Said(), Gauge()
    logging.getLogger("anonymeter").addHandler(said)
    try:
        with gauge:
            done = evaluate(frames, task, min(attacks, *map(len, frames)), seed)
            risk = done.risk()
    finally:
        logging.getLogger("anonymeter").removeHandler(said)
    found = done.results()
    return {
        **{name: float(getattr(found, kind).value) for name, kind in _RATES.items()},
        "risk": float(risk.value),
        "interval": [float(end) for end in risk.ci],
        "attacks": int(found.n_attacks_ori),
        "said": said.words,
        "wall": gauge.wall,
        "cpu": gauge.cpu,
    }


def tried(frames: Frames, task: dict[str, Any], attacks: int, seed: int) -> dict[str, Any]:
    """The answer, or why there is none."""
    try:
        return {**task, **answer(frames, task, attacks, seed)}
    except Exception as error:
        return {**task, "failure": f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"}


def main() -> None:
    """Work off the requests."""
    warnings.simplefilter("ignore")
    requests = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    whole, answers = Gauge(), []
    with whole:
        for request in requests:
            paths = (request[name] for name in ("original", "released", "control"))
            frames: Frames = tuple(map(pd.read_parquet, paths))  # type: ignore[assignment]
            answers.append(
                [tried(frames, task, request["attacks"], request["seed"])
                 for task in request["tasks"]]
            )  # fmt: skip
    used = ("anonymeter", "numpy", "pandas", "polars", "numba")
    whole.report(answers=answers, versions={one: version(one) for one in used})


if __name__ == "__main__":
    main()
