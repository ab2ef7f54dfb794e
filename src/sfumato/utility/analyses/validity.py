"""Winkler's analytic validity: does a masked table still support the usual analyses?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.schema import SET_ASIDE, Kind
from ...errors import MeasureError
from ...kernels.statistics.covariance import moments
from ...protocols import Context, Measurement
from ..loss import TableLoss
from ..numeric.matrices import Columns, Numbers, numbers_of_both


class AnalyticValidity(TableLoss):
    """Share of Winkler's checks that fail: sub-domains, marginals, one distribution.

    A table is analytically valid if it keeps means and covariances on a few sub-domains, the
    marginals of a few tabulations, and one distributional characteristic. Sub-domains are the
    categories (or quartiles) of a column, in each table by its own values; each mean and each
    covariance of each sub-domain is one check, within `tolerance` deviations and `tolerance` of a
    correlation; each marginal share is one check, within `tolerance` of the whole; and the
    quantiles of 10, 20, ..., 90 % are the distribution, within `tolerance` deviations. It is
    analytically interesting if six variables on the sub-domains pass. `detail` is the checklist.
    """

    name: ClassVar[str] = "analytic-validity"
    paper: ClassVar[str] = (
        "Winkler (1998), Re-identification methods for evaluating the confidentiality of "
        "analytically valid microdata"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    decimals: ClassVar[int | None] = 3
    unit: ClassVar[str] = "%"

    domains: tuple[str, ...] = Field(
        (), description="columns that make sub-domains; the first with 2 to 10 values or so"
    )
    tolerance: float = Field(
        0.1, gt=0, description="largest change that passes, in deviations or shares"
    )
    least: int = Field(10, ge=2, description="records that a sub-domain needs")
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        found = numbers_of_both(pair, self.columns, self.name)
        domains = list(self.domains) or self._usual_domains(found)
        checks: dict[str, dict[str, Any]] = {}
        passed_by: dict[str, list[bool]] = {name: [] for name in found.chosen.names}
        for domain in domains:
            self._check_domain(found, domain, checks, passed_by)
        self._check_distribution(found, checks)
        if not any(check["of"] for name, check in checks.items() if name.startswith("means by")):
            raise MeasureError(
                f"no sub-domain of {', '.join(domains)} has {self.least} records to check",
                remedy="name another column in `domains`, or lower `least`",
            )
        failed = sum(check["failed"] for check in checks.values())
        of = sum(check["of"] for check in checks.values())
        interesting = sum(1 for results in passed_by.values() if results and all(results))
        detail: dict[str, Any] = {
            **found.facts(),
            "sub_domains": domains,
            "checklist": checks,
            "valid": failed == 0,
            "variables_that_pass": interesting,
            "interesting": interesting >= 6,
        }
        return self.result(failed / of, detail=detail)

    def _usual_domains(self, found: Numbers) -> list[str]:
        pair = found.pair
        for column in pair.original.schema:
            fit = column.name in pair.masked.schema and column.role not in SET_ASIDE
            few = 2 <= pair.original[column.name].n_unique() <= 10
            labels = fit and pair.masked.schema[column.name].generalized
            if fit and few and not labels and column.kind != Kind.SET:
                return [column.name]
        return [found.chosen.names[0]]

    def _check_domain(
        self,
        found: Numbers,
        domain: str,
        checks: dict[str, dict[str, Any]],
        passed_by: dict[str, list[bool]],
    ) -> None:
        here, there, labels = _codes_of_both(found, domain)
        deviation = np.nanstd(found.x, axis=0, ddof=1)
        wrong = {"means": 0, "covariances": 0}
        of = {"means": 0, "covariances": 0}
        small = 0
        for code in range(len(labels)):
            rows, others = found.x[here == code], found.y[there == code]
            if len(rows) < self.least:
                small += 1
                continue
            gap = np.full(len(deviation), np.inf)
            spread = np.full((len(deviation),) * 2, np.inf)
            if len(others) >= 2:
                with np.errstate(invalid="ignore"):
                    gap = np.abs(_means(others) - _means(rows)) / deviation
                    spread = np.abs(moments(others)[1] - moments(rows)[1])
                    spread = spread / np.outer(deviation, deviation)
            bad_means = ~(gap <= self.tolerance)
            bad_spread = ~(spread <= self.tolerance)
            upper = np.triu_indices(len(deviation))
            wrong["means"] += int(bad_means.sum())
            wrong["covariances"] += int(bad_spread[upper].sum())
            of["means"] += bad_means.size
            of["covariances"] += upper[0].size
            for j, name in enumerate(found.chosen.names):
                passed_by[name].append(not (bad_means[j] or bad_spread[j, j]))
        for what in wrong:
            checks[f"{what} by {domain}"] = {"failed": wrong[what], "of": of[what]}
        if small:
            checks[f"means by {domain}"]["sub_domains_too_small"] = small
        # Missing values, and values that the original does not have, are one cell more.
        shares = [
            np.bincount(codes + 1, minlength=len(labels) + 1) / codes.size
            for codes in (here, there)
        ]
        off = int((np.abs(shares[0] - shares[1]) > self.tolerance).sum())
        checks[f"marginals of {domain}"] = {"failed": off, "of": len(labels) + 1}

    def _check_distribution(self, found: Numbers, checks: dict[str, dict[str, Any]]) -> None:
        at = np.arange(0.1, 0.95, 0.1)
        deviation = np.nanstd(found.x, axis=0, ddof=1)
        before, after = (np.nanquantile(t, at, axis=0) for t in (found.x, found.y))
        wrong = ~(np.abs(after - before) / deviation <= self.tolerance)
        checks["quantiles"] = {"failed": int(wrong.sum()), "of": int(wrong.size)}


def _means(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.nanmean(x, axis=0)
    return found


def _codes_of_both(found: Numbers, domain: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Each table's records in sub-domains, -1 where the value is missing or new."""
    pair = found.pair
    if domain not in pair.original.schema or domain not in pair.masked.schema:
        raise MeasureError(
            f"column {domain!r} is not in both tables", remedy="name another in `domains`"
        )
    if pair.masked.schema[domain].generalized:
        raise MeasureError(
            f"column {domain!r} holds labels in the masked table: it makes no sub-domains",
            remedy="name a column in `domains` that was not generalized",
        )
    if domain in found.chosen.names:
        j = found.chosen.names.index(domain)
        x, y = found.x[:, j], found.y[:, j]
        values = np.unique(x[~np.isnan(x)])
        cuts = values[1:] if values.size <= 10 else np.unique(np.nanquantile(x, [0.25, 0.5, 0.75]))
        labels = [str(i) for i in range(cuts.size + 1)]
        sides = [np.where(np.isnan(t), -1, np.searchsorted(cuts, t, "right")) for t in (x, y)]
        return sides[0], sides[1], labels
    before, after = (t[domain].cast(pl.String) for t in (pair.original, pair.masked))
    labels = before.drop_nulls().unique().sort().to_list()
    place = pl.DataFrame({"value": labels, "code": np.arange(len(labels))})
    codes = [
        pl.DataFrame({"value": side})
        .join(place, on="value", how="left", maintain_order="left")["code"]
        .fill_null(-1)
        .to_numpy()
        for side in (before, after)
    ]
    return codes[0], codes[1], labels
