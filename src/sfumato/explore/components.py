"""The kernel principal components of a table, and how a release lies along them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..errors import ParameterError
from ..machine import cannot_write
from ..measurement import Measurement
from ..protocols import Context
from ..release.pairing import as_pair
from ..rng import stream
from ..utility.distributions.kernel_pca import Compared, KernelPca
from .figure_files import check, write_by, write_chart


@dataclass(frozen=True, eq=False)
class Components:
    """An original and a release along the kernel principal components of the original.

    For the owner of the data: it holds where every original record lies.
    """

    measurement: Measurement
    compared: Compared
    groups: tuple[str, ...] | None = None
    """The group of each released record, for the figure."""

    @property
    def table(self) -> pl.DataFrame:
        """One row a component: eigenvalue, share of the variance, the shares up to it, the
        Kolmogorov-Smirnov distance and p, and those of the reference sample."""
        return pl.DataFrame(self.compared.rows())

    def figure(
        self, path: str | Path | None = None, *, components: int = 5, title: str = ""
    ) -> Any:
        """Densities on the diagonal, contours above it, the released records below it.

        An Altair chart, which is also written to `path` (.svg, .png, .pdf, .html or .json) where
        one is given. It shows smoothed densities of the original and none of its records.
        """
        from .components_figure import chart

        made = chart(self, components, title)
        if path is not None:
            check(Path(path), "figure")
            write_chart(made, Path(path))
        return made

    def save(self, folder: str | Path, *, components: int = 5, title: str = "") -> Path:
        """Write components.csv and components.svg and .png into a folder, made where needed."""
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(where, error) from error
        write_by(where / "components.csv", self.table.write_csv)
        made = self.figure(components=components, title=title)
        for ending in ("svg", "png"):
            write_chart(made, where / f"components.{ending}")
        return where

    def __repr__(self) -> str:
        found = self.measurement
        beside = "" if found.baseline is None else f", {found.baseline:.3f} by comparison"
        return (
            f"Components({len(self.compared.gaps)} components with "
            f"{min(self.compared.components.share.sum(), 1.0):.0%} of the variance; "
            f"largest distance {found.value:.3f}{beside})"
        )


def kernel_components(
    original: Any,
    masked: Any,
    *,
    reference: Any = None,
    groups: Any = None,
    seed: int = 0,
    **parameters: Any,
) -> Components:
    """Compare a release with its original along the kernel principal components of the original.

    `reference` is a sample of other people of the same population, `groups` says which group each
    released record belongs to (for the figure), and the parameters are those of the measure
    `kernel-pca`. With `fit = "half"` the original's records are those of the half that the
    components were not found in.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=(2, 300, 2))
    >>> found = kernel_components(pl.DataFrame(x[0]), pl.DataFrame(x[1]), components=2)
    >>> found.table.columns
    ['component', 'eigenvalue', 'share', 'cumulative', 'distance', 'p']
    """
    measure: KernelPca = KernelPca.build(parameters)
    pair = as_pair(original, masked, "none")
    sample = None if reference is None else as_pair(pair.original, reference, "none").masked
    # The stream of the measure, so that both find the same.
    context = Context(pair, stream(seed, 0, f"measure/{measure.name}"), None, sample)
    compared = measure.compared(context)
    named = None if groups is None else tuple(str(one) for one in np.asarray(groups).tolist())
    if named is not None and len(named) != pair.masked.height:
        raise ParameterError(
            f"there are {len(named)} groups for {pair.masked.height} released records",
            remedy="give each released record its group, in the order of the release",
        )
    return Components(measure.found(compared), compared, named)
