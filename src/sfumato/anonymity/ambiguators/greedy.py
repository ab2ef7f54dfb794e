"""Greedy: each record with the k - 1 others that cost least; beam: with more sets in hand."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import Matrix
from ...data.partition import Cover, Partition
from .base import GrowingAmbiguator


class Greedy(GrowingAmbiguator):
    """Join each record with the k - 1 others that raise the measure least.

    A record's set starts with itself and takes, k - 1 times, the record that makes the measure of
    the set's least upper bound smallest; of several, the lowest row. Records that are in the set
    already are left out, which the thesis' figure 11 forgets. Sets overlap: the result is
    (k,1)-anonymous, not k-anonymous. `repair = "k"` makes classes: records whose set is cheapest
    come first and grow it anew among the records that are in no class yet; the fewer than k that
    remain each join the class whose total cost they raise least.

    With `measure = "model"` the cost of a set is how much the prediction of the target by a model
    changes for the record when its cells are generalized (Greedy-DXCG). Numbers become the middles
    of their ranges; categories the mean of the values below them, as frequent as they are. Models
    are trained on the original columns, in folds: a record's set is judged by one that has not seen
    its target. (A model that knows the target by heart would shape the record's cells so that they
    tell it: the release would predict better than the originals.) The targets of other people do
    shape what is published of a record, as they do with the measures of information.
    """

    name: ClassVar[str] = "greedy"
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy (figure 11; Greedy-DXCG)"
    )

    measure: Literal["ncp", "height", "column-mi", "value-mi", "model"] = Field(
        "ncp",
        description="what joining records loses: share of the domain, steps of the hierarchy, "
        "what columns or values tell about the target, or a model's prediction of it",
    )  # type: ignore[assignment]
    model: str = Field(
        "",
        description='the model of measure = "model": where scikit-learn has it, such as '
        '"sklearn.ensemble.GradientBoostingRegressor"; a linear one unless given',
    )

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        if self.measure != "model":
            return self.grow(x, width=1)
        from .model_growth import ModelGrowth

        records = self.model_copy(update={"measure": "ncp"}).price(x)
        growth = ModelGrowth.train(x, records, self.target, self.model)
        members, cost, ties = growth.cover(self.k)
        found: Partition | Cover
        if self.repair == "none":
            found = self.as_cover(members, ties)
        else:
            labels, ties = growth.close(self.k, np.argsort(cost, kind="stable"))
            found = self.as_classes(labels, ties)
        who = "a record's set" if self.repair == "none" else "a class by its first record"
        warning = (
            f"sets of records were chosen by models of {growth.target}; the one that chose {who} "
            "has not seen that record's own"
        )
        return replace(found, warnings=(*found.warnings, warning))


class Beam(GrowingAmbiguator):
    """Greedy ambiguation that keeps the n best sets of records at every step.

    From each of the `width` sets in hand every record is tried; the `width` extended sets whose
    least upper bounds cost least go on, equal ones in the order of the sets that they extend, then
    by the lowest row. Sets that hold the same records count once, and of records that are alike in
    all cells only the lowest row is tried. A width of 1 is greedy. Results are (k,1)-anonymous
    unless `repair = "k"`, as for greedy.
    """

    name: ClassVar[str] = "beam"
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy (future work: n best)"
    )

    width: int = Field(5, ge=1, le=1000, description="sets kept at every step")

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        return self.grow(x, self.width)
