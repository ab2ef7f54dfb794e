"""k-map: every published combination fits k people of the population."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ..classes import Grouping
from ..verdict import ROUNDING, Judged, OfClasses
from .population import People, Share, covered_people, sampling_share, weights_of


class KMap(OfClasses):
    """Every published record fits at least k people of the population.

    The figure is the least number of people that a published combination of quasi-identifiers fits:

    - counted, where a `population` is given: those whose values all its labels cover. Columns are
      matched by name, and labels read by the release's posets;
    - estimated as the class's records divided by the sampling `share`, where one is given;
    - estimated as the sum of the class's sampling weights, where a column has the role `weight`.

    An estimate is right on average and not for every class: small classes are uncertain. A missing
    value fits people without a value, a suppressed one everybody. The finding says which it was.

    A search counts the same way, by what it would publish for each class.

    >>> from sfumato.data.table import table
    >>> people = table({"age": [20, 25, 29, 40, 41], "sex": list("fffmm")})
    >>> t = table({"age": [20, 25, 40], "sex": list("ffm")}, quasi=["age", "sex"])
    >>> KMap(k=2, population=people).check(t).value, KMap(k=2, share=0.5).check(t).value
    (1.0, 2.0)
    """

    name: ClassVar[str] = "k-map"
    beside_cover: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"k": 5, "share": 0.1}
    paper: ClassVar[str] = (
        "Sweeney (2001), Computational disclosure control: a primer on data privacy protection, "
        "PhD thesis, MIT; El Emam & Dankar (2008), Protecting privacy using k-anonymity, JAMIA "
        "15(5)"
    )
    monotone: ClassVar[bool] = True

    k: int = Field(ge=1, description="people whom every published record fits")
    population: People = Field(
        "", description="file of the population", json_schema_extra={"file": True}
    )
    share: Share = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.population != "" and self.share is not None:
            raise ValueError("give the population or the share of it, not both")
        return self

    def _judged(self, grouping: Grouping) -> Judged:
        detail: dict[str, Any] = {
            "quasi_identifiers": list(grouping.classes.columns),
            "records": grouping.table.height,
        }
        if self.population != "":
            people, found = covered_people(grouping, self.population, who="the population")
            fits = found.counts().astype(np.float64)
            detail["population"] = f"counted among {people.height:,} people"
            if found.outside:
                detail["values_in_no_hierarchy"] = dict(found.outside)
        else:
            fits, detail["population"] = self._estimated(grouping)
        # A sum of weights may miss a whole number by its rounding.
        kept = fits >= self.k * (1 - ROUNDING)
        return Judged(fits, kept, "k-map", self.k, detail, at_least=True)

    def _estimated(self, grouping: Grouping) -> tuple[np.ndarray, str]:
        weights = None if self.share is not None else weights_of(grouping.table)
        if weights is None:
            share, how = sampling_share(grouping.table, self.share, self.name)
            return grouping.sizes / share, f"estimated by {how}"
        name, weight = weights
        if grouping.rows is not None:
            weight = weight[grouping.rows]
        sums = np.bincount(grouping.classes.labels, weights=weight, minlength=len(grouping))
        # The sample is in the population: no class is smaller there.
        return np.maximum(sums, grouping.sizes), f"estimated by the sum of the weights in {name}"
