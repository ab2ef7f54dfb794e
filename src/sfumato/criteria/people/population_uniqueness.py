"""Population uniqueness, estimated from the class sizes of a sample."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from ...errors import MeasureError
from ...kernels.statistics.population_uniqueness import dankar, estimate
from ..classes import Grouping
from ..verdict import OfRelease
from .population import Share, sampling_share


class PopulationUniqueness(OfRelease):
    """The estimated share of records that are unique in the population stays below a limit.

    The table is taken for a random sample of a population. How much of it that is follows from
    `share`, or else from the sampling weights: the records divided by the sum of their weights
    (which is all that weights are used for: the models suppose that everybody was drawn with the
    same chance). The models:

    - pitman: class sizes follow Pitman's sampling formula (Hoshino 2001);
    - zayatz: the population's class sizes are distributed as the sample's (Zayatz 1991);
    - snb: a class has 1 + negative binomial members (Chen & Keller-McNulty 1998);
    - dankar: pitman for shares up to 0.1, else the lesser of zayatz and snb; zayatz where a model
      does not converge (Dankar, El Emam, Neisa & Roffey 2012).

    It is a figure of the whole release: a search hears the same of every class. Joining classes
    need not lower an estimate.

    >>> from sfumato.data.table import table
    >>> t = table({"q": [*range(6), *([7] * 6), *([8] * 8)]}, quasi=["q"])
    >>> found = PopulationUniqueness(at_most=0.05, share=0.5, model="zayatz").check(t)
    >>> round(found.value, 3), found.detail["alone"]
    (0.29, 0.3)
    """

    name: ClassVar[str] = "population-uniqueness"
    example: ClassVar[dict[str, Any]] = {"at-most": 0.05, "share": 0.1}
    paper: ClassVar[str] = (
        "Dankar, El Emam, Neisa & Roffey (2012), Estimating the re-identification risk of "
        "clinical data sets, BMC Medical Informatics and Decision Making 12:66; Hoshino (2001), "
        "Applying Pitman's sampling formula to microdata disclosure risk assessment, JOS 17(4); "
        "Zayatz (1991), Estimation of the number of unique population elements using a sample; "
        "Chen & Keller-McNulty (1998), Estimation of identification disclosure risk in microdata, "
        "JOS 14(1)"
    )
    subject: ClassVar[str] = "the estimated population uniqueness"

    at_most: float = Field(ge=0, le=1, description="largest share of unique records")
    share: Share = None
    model: Literal["dankar", "pitman", "zayatz", "snb"] = Field(
        "dankar", description="how the population's classes are estimated"
    )

    def _figure(self, grouping: Grouping) -> tuple[float, dict[str, Any]]:
        share, how = sampling_share(grouping.table, self.share, self.name)
        sizes = grouping.sizes
        if not sizes.size:
            return 0.0, {}
        if self.model == "dankar":
            model, found = dankar(sizes, share)
        else:
            model, found = self.model, estimate(sizes, share, self.model)
        if not found.found:
            raise MeasureError(
                f"the {model} model of population uniqueness has no answer: {found.why_not}",
                remedy='model = "dankar", which then takes another model',
            )
        alone = float((sizes == 1).sum() / sizes.sum())
        said = {"model": model, "share": share, "share_from": how, "alone": alone}
        return found.share, said
