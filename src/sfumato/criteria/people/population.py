"""Criteria on the people whom a release may be about: a file, or a table given from Python.

Also what a sample says of its population by itself: sampling weights, or the share that was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from ...data.io import read
from ...data.schema import Role, Schema
from ...data.table import Table, kept_with
from ...errors import MeasureError
from ...kernels.statistics.population_uniqueness import dankar, estimate
from ..classes import Grouping
from ..coverage.containment import Containment, containment
from ..verdict import ROUNDING, Judged, OfClasses, OfRelease


def _path_or_table(given: Any) -> Any:
    if isinstance(given, Table | str):
        return given
    if isinstance(given, Path):
        return str(given)
    raise ValueError("should be the path of a file, or a table")


People = Annotated[
    Any,
    AfterValidator(_path_or_table),
    PlainSerializer(lambda given: given if isinstance(given, str) else "(a table)"),
    WithJsonSchema({"type": "string"}),
]
"""A file of people, by its path, or a `Table`."""
Share = Annotated[
    float | None, Field(gt=0, le=1, description="share of the population that the table holds")
]


def people_of(given: Any, release: Table, columns: Sequence[str], *, who: str) -> Table:
    """The people with the release's quasi-identifiers, each read as the release declares it."""
    schema = release.schema
    found = _read(given, schema.only(columns)) if isinstance(given, str) else given
    lacking = [name for name in columns if name not in found.schema]
    if lacking:
        raise MeasureError(
            f"{who} has no column {lacking[0]!r}",
            remedy="give it every quasi-identifier of the release",
        )
    if not found.height:
        raise MeasureError(f"{who} has no records", remedy="give another table")
    # A search asks thousands of times for the same people, declared the same way.
    told_by = tuple((found.schema[name], schema[name].poset) for name in columns)
    key = ("people", tuple(columns), tuple((id(own), id(poset)) for own, poset in told_by))

    def declared() -> tuple[Any, Table]:
        kept = found.without([name for name in found.names if name not in set(columns)])
        made = [
            column.with_(role=Role.QUASI, poset=schema[column.name].poset or column.poset)
            for column in kept.schema
        ]
        # Kept with the people, what told of them keeps its id.
        return told_by, kept.with_schema(Schema(made))

    result: Table = kept_with(found, key, None, declared)[1]
    return result


def _read(path: str, schema: Schema) -> Table:
    changed = Path(path).stat().st_mtime_ns if Path(path).exists() else 0
    kinds = tuple((column.name, str(column.kind)) for column in schema)
    ordered = tuple((column.name, column.categories) for column in schema if column.categories)
    return _read_once(path, changed, kinds, ordered)


@lru_cache(maxsize=4)
def _read_once(path: str, changed: int, kinds: Any, ordered: Any) -> Table:
    """A release is counted several times, and its population is read once."""
    found = read(path)
    known = {name: kind for name, kind in kinds if name in found.schema}
    categories = {
        name: list(dict.fromkeys([*listed, *_texts(found, name)]))
        for name, listed in ordered
        if name in found.schema
    }
    return read(path, kinds=known, categories=categories)


def _texts(found: Table, name: str) -> list[str]:
    """A column's values as text: a release knows the categories that it published, no others."""
    return found[name].cast(pl.String).drop_nulls().unique().sort().to_list()


def covered_people(grouping: Grouping, given: Any, *, who: str) -> tuple[Table, Containment]:
    """The people, and whom of them each class covers by what is, or would be, published for it."""
    shown = grouping.shown
    people = people_of(given, shown, shown.names, who=who)
    return people, containment(people, shown, np.arange(len(grouping)), shown.names)


def weights_of(table: Table) -> tuple[str, np.ndarray] | None:
    """The column of sampling weights and its values; None where no column has that role."""
    named = table.schema.of_role(Role.WEIGHT)
    if not named:
        return None
    if len(named) > 1:
        raise MeasureError(
            f"{len(named)} columns have the role weight: {', '.join(named)}",
            remedy="leave the role to one of them",
        )
    name = named[0]
    series = table[name]
    if table.schema[name].generalized or not series.dtype.is_numeric():
        raise MeasureError(
            f"the weights in column {name!r} are no numbers", remedy="give it no role"
        )
    weight = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    bad = ~(np.isfinite(weight) & (weight > 0))
    if bad.any():
        row, more = int(np.argmax(bad)), int(bad.sum()) - 1
        others = f" (as in {more:,} more row{'s' if more > 1 else ''})" if more else ""
        raise MeasureError(
            f"the weight in column {name!r}, row {row + 1}, is {series[row]}{others}: "
            "weights are positive numbers",
            remedy="mend it, or give the column another role",
        )
    return name, weight


def sampling_share(table: Table, given: float | None, asking: str) -> tuple[float, str]:
    """The share of the population that the table holds, and where that is known from."""
    if given is not None:
        return given, "the given sampling share"
    found = weights_of(table)
    if found is None:
        raise MeasureError(
            f"{asking} must know what share of the population the table holds",
            remedy=f"{asking} = {{ share = 0.1, ... }}, or give a column the role weight",
        )
    name, weight = found
    return min(1.0, weight.size / float(weight.sum())), f"the sampling weights in {name}"


def fitting(
    grouping: Grouping, population: Any, share: float | None, *, asking: str
) -> tuple[np.ndarray, str]:
    """How many people of the population each class fits, and how that is known: counted among those
    given, else estimated by the share of them that the table holds or by its weights."""
    if population != "":
        people, found = covered_people(grouping, population, who="the population")
        return found.counts().astype(np.float64), f"counted among {people.height:,} people"
    weights = None if share is not None else weights_of(grouping.table)
    if weights is None:
        share, how = sampling_share(grouping.table, share, asking)
        return grouping.people / share, f"estimated by {how}"
    name, weight = weights
    if grouping.rows is not None:
        weight = weight[grouping.rows]
    weight = weight / grouping.records_each
    sums = np.bincount(grouping.classes.labels, weights=weight, minlength=len(grouping))
    # The sample is in the population: no class is smaller there.
    return np.maximum(sums, grouping.people), f"estimated by the sum of the weights in {name}"


class KMap(OfClasses):
    """Every published record fits at least k people of the population.

    The figure is the least number of people that a published combination of quasi-identifiers fits:

    - counted, where a `population` is given: those whose values all its labels cover. Columns are
      matched by name, and labels read by the release's posets;
    - estimated as the class's people divided by the sampling `share`, where one is given;
    - estimated as the sum of its people's sampling weights, where a column has the role `weight`.

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
        fits, detail["population"] = fitting(
            grouping, self.population, self.share, asking=self.name
        )
        # A sum of weights may miss a whole number by its rounding.
        kept = fits >= self.k * (1 - ROUNDING)
        return Judged(fits, kept, "k-map", self.k, detail, at_least=True)


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
        sizes = grouping.people
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
