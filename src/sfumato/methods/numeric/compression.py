"""Lossy compression: the table is an image, and what an image can do without is not published."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import standardize
from ...kernels.masking.transform_coding import LEVELS, first_component, jpeg, keep_largest
from ...kernels.statistics.covariance import moments
from ...kernels.statistics.scores import order_of
from .base import Masked, NumericMethod


class LossyCompression(NumericMethod):
    """Compress the table as an image, with loss, and publish what is left.

    Records are the rows of the image, columns its columns and values its pixels. With "jpeg" each
    column's range becomes the grey levels 0 to 255, and the image is put through the lossy steps of
    JPEG (8 x 8 blocks, discrete cosine transform, quantization by `quality`) and mapped back; so a
    record is mixed with the seven records and the seven columns beside it, no value leaves its
    column's range (the largest may be published: top-code first), and the order of rows and columns
    matters. With "column-dct" each column is rebuilt from a share `keep` of the coefficients of its
    own cosine transform, its mean, which is kept exactly (but for the rounding of whole numbers),
    and the largest others.

    `order` sorts the rows for the transform only: as they are, by the first principal component, so
    that alike records are neighbours and less is lost, or each column by itself. Nothing is drawn:
    records become equal because they were compressed alike, not by chance. A missing value stays
    missing; it counts as the column's mean in the image of "jpeg", and "column-dct" leaves it out.
    """

    name: ClassVar[str] = "lossy-compression"
    aliases: ClassVar[tuple[str, ...]] = ("jpeg",)
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Torra 2001, Disclosure control methods and information loss for "
        "microdata; Wallace 1991, The JPEG still picture compression standard, CACM 34(4)"
    )
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False

    transform: Literal["jpeg", "column-dct"] = Field(
        "jpeg", description="blocks of 8 x 8 as in JPEG, or the cosine transform of each column"
    )
    quality: int = Field(80, ge=1, le=100, description="quality of jpeg: 1 keeps least, 100 most")
    keep: float = Field(
        0.1, gt=0, le=1, description="share of the coefficients that column-dct keeps"
    )
    order: Literal["as-is", "first-component", "each-column"] = Field(
        "as-is", description="rows as they are, by the first component, or each column by itself"
    )

    def masked(self, x: np.ndarray, rng: np.random.Generator) -> Masked:
        scaled = _scaled(x)
        image = np.where(np.isnan(scaled), _means(scaled), scaled)
        orders = self._orders(x, image)
        for j, order in enumerate(orders):
            image[:, j] = image[order, j]
        if self.transform == "jpeg":
            image = jpeg(np.rint(image * (LEVELS - 1)), self.quality) / (LEVELS - 1)
        else:
            for j, order in enumerate(orders):
                # Values put in for missing ones would take part in the mean and leave again.
                present = ~np.isnan(x[order, j])
                if present.any():
                    image[present, j] = keep_largest(image[present, j], self.keep)
        made = np.empty_like(image)
        for j, order in enumerate(orders):
            made[order, j] = image[:, j]
        return Masked(_unscaled(made, x))

    def _orders(self, x: np.ndarray, image: np.ndarray) -> list[np.ndarray]:
        """For each column, the rows in the order in which they are transformed."""
        rows = np.arange(x.shape[0])
        if self.order == "each-column":
            return [order_of(image[:, j]) for j in range(x.shape[1])]
        if self.order == "first-component":
            z = standardize(x)
            score = np.where(np.isnan(z), 0.0, z) @ first_component(moments(z)[1])
            rows = np.argsort(score, kind="stable")
        return [rows] * x.shape[1]


def _ends(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each column's smallest value and its range; 0 and 1 where there is none."""
    missing = np.isnan(x)
    low = np.where(missing, np.inf, x).min(axis=0)
    high = np.where(missing, -np.inf, x).max(axis=0)
    low = np.where(np.isfinite(low), low, 0.0)
    width = np.where(high > low, high - low, 1.0)
    return low, width


def _scaled(x: np.ndarray) -> np.ndarray:
    """Each column's range as 0..1; a constant column is 0."""
    low, width = _ends(x)
    found: np.ndarray = (x - low) / width
    return found


def _means(x: np.ndarray) -> np.ndarray:
    present = ~np.isnan(x)
    found: np.ndarray = np.where(present, x, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    return found


def _unscaled(image: np.ndarray, x: np.ndarray) -> np.ndarray:
    low, width = _ends(x)
    flat = np.where(np.isnan(x), -np.inf, x).max(axis=0) <= low
    # A constant column has no range to compress and stays what it is.
    made = np.where(flat, x, low + image * width)
    return np.where(np.isnan(x), np.nan, made)
