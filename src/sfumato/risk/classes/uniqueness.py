"""How many records of a release are unique in the population, by several models."""

from __future__ import annotations

from typing import Any, ClassVar

from ...criteria.classes import equivalence_classes
from ...criteria.people.population import Share, sampling_share
from ...criteria.people.population_uniqueness import PopulationUniqueness
from ...kernels.statistics.population_uniqueness import MODELS, dankar, estimate
from ...protocols import Context, Measurement
from .base import ClassRisk

_ASSUMPTIONS = {
    "pitman": "class sizes follow Pitman's sampling formula",
    "zayatz": "classes of the population have the sizes that the sample's have",
    "snb": "a class has 1 + negative binomial members",
}


class UniquenessEstimates(ClassRisk):
    """Estimated share of records that are unique in the population, by four models.

    The value is that of the model which the rule of Dankar et al. picks. `detail["models"]` has
    every model's share, what it supposes, and why it has no answer where it has none. The sampling
    share is `share`, else the records divided by the sum of their sampling weights. Estimates from
    class sizes alone suppose a simple random sample; compare them before trusting one.

    >>> import numpy as np
    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> t = table({"q": [1, 2, 3, 3, 4, 4, 4]}, quasi=["q"])
    >>> found = UniquenessEstimates(share=0.5).measure(
    ...     Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> found.detail["picked"], round(found.detail["models"]["zayatz"]["share"], 3)
    ('zayatz', 0.147)
    """

    name: ClassVar[str] = "uniqueness-estimates"
    example: ClassVar[dict[str, Any]] = {"share": 0.1}
    paper: ClassVar[str] = PopulationUniqueness.paper

    share: Share = None

    def measure(self, context: Context) -> Measurement:
        masked, original = context.pair.masked, context.pair.original
        share, how = sampling_share(masked, self.share, self.name)
        classes = equivalence_classes(masked)
        picked, found = dankar(classes.sizes, share)
        models: dict[str, Any] = {}
        for model in MODELS:
            estimated = estimate(classes.sizes, share, model)
            models[model] = {"supposes": _ASSUMPTIONS[model]}
            models[model] |= (
                {"share": estimated.share} if estimated.found else {"no_answer": estimated.why_not}
            )
        before = equivalence_classes(original).sizes
        return self.result(
            found.share,
            baseline=dankar(before, min(1.0, share * before.sum() / masked.height))[1].share,
            detail={
                "picked": picked,
                "models": models,
                "sampling_share": share,
                "sampling_share_from": how,
                "alone": float((classes.sizes == 1).sum() / masked.height),
                "baseline": "the same figure before masking",
            },
        )
