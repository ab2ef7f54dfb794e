"""Synthetic records from a mixture of models, where nobody knows which family is right."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...kernels.statistics.scores import normal_distribution
from ...kernels.synthesis.stacking import stacking_weights
from ...progress import report
from .ranks import Points, RankModel, RankSynthesizer

Family = Literal["full", "diag", "tied"]
FAMILIES: dict[Family, str] = {
    "full": "components of their own shapes",
    "tied": "components of one shape",
    "diag": "components within which columns are independent",
}
_RIDGE = 0.01
"""Variance, of 1, that no direction of a component goes below: none may lie on few records."""
_FOLDS = 4
_MOST = 20_000
"""Records that models are fitted to; of more, a random sample."""
_WORTH = 0.005
"""Weights below this are dropped: they would draw next to nobody."""


class _Candidate(NamedTuple):
    family: Family
    components: int

    @property
    def told(self) -> str:
        if self.components == 1:
            return "one normal" if self.family == "full" else "independent columns"
        return f"{self.components} {FAMILIES[self.family]}"


class ModelMixture(RankSynthesizer):
    """Draw records from a mixture of models, each weighed by how well it foretells other records.

    Where even the family of the distribution is uncertain, models of several families are mixed,
    and the mixture is drawn from: a family, then its number of components, then a component, then a
    record (hierarchical mixtures of models). Columns become normal scores as for `gaussian-copula`,
    ties in random order; there the families are mixtures of 1, 2, 4, ... normal components of their
    own shapes, of one shape, or with independent columns (latent classes), fitted by scikit-learn.
    One component of its own shape is the Gaussian copula. Weights are those with which the mixture
    is densest at records that the models were not fitted to (stacking, in four folds); `weigh =
    "posterior"` takes Schwarz's approximation of the models' posterior probabilities, which mostly
    has one model win. A missing value is filled in for the fit as the copula would draw it.

    What is kept beyond the copula: dependence that is no correlation, such as groups in which
    columns go together differently. No component may hold fewer than `fewest` records, nor fewer
    than twice the columns if it has a shape of its own, and none is thinner than a tenth of a
    deviation: models that break this are left out. Of more than 20,000 records, a random sample is
    fitted. Rows stem from no single record.
    """

    name: ClassVar[str] = "model-mixture"
    aliases: ClassVar[tuple[str, ...]] = ("hierarchical-mixture",)
    paper: ClassVar[str] = (
        "Keller-McNulty & Duncan 2000, Bayesian insights on disclosure limitation: mask or impute; "
        "Lasko 2007, section 2.3.5; Yao, Vehtari, Simpson & Gelman 2018, Using stacking to average "
        "Bayesian predictive distributions, Bayesian Analysis 13(3)"
    )

    families: tuple[Family, ...] = Field(
        ("full", "tied", "diag"),
        min_length=1,
        description="components of their own shapes, of one shape, or with independent columns",
    )
    components: int = Field(16, ge=1, le=256, description="most components of a model")
    weigh: Literal["stacking", "posterior"] = Field(
        "stacking", description="weights by density at other records, or by posterior probability"
    )
    fewest: int = Field(20, ge=5, description="records that a component must hold")

    def points(self, model: RankModel, rows: int, rng: np.random.Generator) -> Points:
        numbers = model.numbers
        if len(numbers) > _MOST:
            numbers = numbers[rng.choice(len(numbers), _MOST, replace=False)]
        z = _filled(_scores(numbers, rng), model.latent, rng)
        candidates = self._candidates()
        fitted = [self._fitted(one, z, rng) for one in candidates]
        kept = [i for i, one in enumerate(fitted) if one is not None]
        if not kept:
            raise MethodError(
                f"{self.name}: {len(z):,} records are too few for any of the models",
                remedy=f"use gaussian-copula, or lower fewest = {self.fewest}",
            )
        weights = self._weights([candidates[i] for i in kept], [fitted[i] for i in kept], z, rng)
        weights = np.where(weights < _WORTH, 0.0, weights)
        weights /= weights.sum()
        parts = []
        for i, count in zip(kept, rng.multinomial(rows, weights), strict=True):
            if count:
                drawn: Any = fitted[i]
                drawn.random_state = int(rng.integers(2**31))
                parts.append(drawn.sample(count)[0])
        facts = {
            "models": {
                candidates[i].told: round(float(weight), 2)
                for i, weight in zip(kept, weights, strict=True)
                if weight
            }
        }
        drawn_rows = np.vstack(parts)[rng.permutation(rows)]
        return Points(normal_distribution(drawn_rows), facts)

    def _candidates(self) -> list[_Candidate]:
        sizes = [2**i for i in range(self.components.bit_length())]
        some = [_Candidate(family, size) for family in self.families for size in sizes]
        # One component has one shape: tied says the same as full.
        return [c for c in some if c.components > 1 or c.family != "tied" or len(some) == 1]

    def _fitted(self, one: _Candidate, z: np.ndarray, rng: np.random.Generator) -> Any:
        """The model, or None where it would rest on too few records."""
        from sklearn.mixture import GaussianMixture

        report("fitting models", one.components, self.components)
        seed = int(rng.integers(2**31))
        least = max(self.fewest, 2 * z.shape[1] if one.family == "full" else 0)
        if len(z) < least * one.components or len(z) <= one.components:
            return None
        model = GaussianMixture(
            one.components, covariance_type=one.family, reg_covar=_RIDGE, random_state=seed
        )
        with _quiet():
            model.fit(z)
        return model if model.weights_.min() * len(z) >= least else None

    def _weights(
        self,
        candidates: list[_Candidate],
        fitted: list[Any],
        z: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        if self.weigh == "posterior":
            half = -0.5 * np.array([one.bic(z) for one in fitted])
            found = np.exp(half - half.max())
            return np.asarray(found / found.sum())
        fold = rng.permutation(len(z)) % _FOLDS
        dense = np.empty((len(z), len(fitted)))
        for part in range(_FOLDS):
            here = fold == part
            for j, one in enumerate(fitted):
                again = type(one)(**one.get_params())
                with _quiet():
                    dense[here, j] = again.fit(z[~here]).score_samples(z[here])
        return stacking_weights(dense)


def _quiet() -> Any:
    """Without warnings of a climb that had not come to rest: its weight says what it is worth."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


def _scores(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal scores, column by column; ties in random order, NaN where missing."""
    from scipy.special import ndtri

    out = np.full(numbers.shape, np.nan)
    for j, column in enumerate(numbers.T):
        here = np.flatnonzero(~np.isnan(column))
        order = here[np.lexsort((rng.random(here.size), column[here]))]
        out[order, j] = ndtri((np.arange(here.size) + 0.5) / max(here.size, 1))
    return out


def _filled(z: np.ndarray, latent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Missing scores drawn given the others, as rows of N(0, latent) have them."""
    lacking = np.flatnonzero(np.isnan(z).any(axis=1))
    patterns, which = np.unique(np.isnan(z[lacking]), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows, known = lacking[which.ravel() == number], ~pattern
        slope = latent[np.ix_(pattern, known)] @ np.linalg.pinv(latent[np.ix_(known, known)])
        left = latent[np.ix_(pattern, pattern)] - slope @ latent[np.ix_(known, pattern)]
        values, vectors = np.linalg.eigh(left)
        noise = rng.standard_normal((rows.size, values.size)) * np.sqrt(np.clip(values, 0.0, None))
        z[np.ix_(rows, pattern)] = z[np.ix_(rows, known)] @ slope.T + noise @ vectors.T
    return z
