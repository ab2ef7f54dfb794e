"""Lossy transform coding of a matrix: the blocks of JPEG, or the cosines of whole columns.

Wallace (1991), "The JPEG still picture compression standard", Communications of the ACM 34(4);
ITU-T T.81 (1992) for the luminance quantization table of its annex K; its scaling by a quality of 1
to 100 is that of the Independent JPEG Group, which all programs follow.
"""

from __future__ import annotations

import numpy as np

BLOCK = 8
LEVELS = 256
_CHUNK = 65_536
"""Rows (a multiple of 8) that are transformed at a time, so that memory stays small."""

LUMINANCE = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ],
    dtype=np.int64,
)


def quantization(quality: int) -> np.ndarray:
    """The luminance table for a quality of 1 (coarse) to 100 (fine); 50 is the table itself.

    >>> quantization(50)[0, :3].tolist(), int(quantization(100).max()), int(quantization(1).min())
    ([16, 11, 10], 1, 255)
    """
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((LUMINANCE * scale + 50) // 100, 1, 255)


def jpeg(pixels: np.ndarray, quality: int) -> np.ndarray:
    """Grey levels 0..255 after compression and decompression, level for level.

    Blocks of 8 x 8 levels, less 128, are transformed by the two-dimensional discrete cosine
    transform, divided by the table, rounded and brought back. What does not fill a block is filled
    up by repeating the last row or column, which is cut off again. The entropy coding of the
    standard is free of loss and left out.
    """
    from scipy.fft import dctn, idctn

    table = quantization(quality).astype(np.float64)
    n, p = pixels.shape
    width = -(-p // BLOCK) * BLOCK
    out = np.empty_like(pixels, dtype=np.float64)
    for start in range(0, n, _CHUNK):
        part = pixels[start : start + _CHUNK]
        rows = part.shape[0]
        height = -(-rows // BLOCK) * BLOCK
        filled = np.pad(part, ((0, height - rows), (0, width - p)), mode="edge") - LEVELS / 2
        blocks = filled.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK).swapaxes(1, 2)
        found = dctn(blocks, axes=(2, 3), norm="ortho")
        found = idctn(_whole(found / table) * table, axes=(2, 3), norm="ortho")
        levels = _whole(found.swapaxes(1, 2).reshape(height, width)[:rows, :p]) + LEVELS / 2
        out[start : start + _CHUNK] = np.clip(levels, 0, LEVELS - 1)
    return out


def _whole(x: np.ndarray) -> np.ndarray:
    """The nearest whole numbers. Half-way is common among sums of whole numbers, and must not be
    decided by the last bit, in which processors differ."""
    return np.rint(np.round(x, 9))


def keep_largest(column: np.ndarray, share: float) -> np.ndarray:
    """The column from a share of its cosine coefficients: the mean, and the largest of the others.

    The transform is orthonormal, so that of all columns with as many coefficients this is the one
    with the least squared error.
    """
    from scipy.fft import dct, idct

    found = dct(column, norm="ortho")
    kept = min(column.size - 1, max(0, round(share * column.size) - 1))
    size = np.abs(found[1:])
    if kept < size.size:
        # Of equal ones the first, so that the number is exact.
        order = np.argsort(-size, kind="stable")[kept:]
        found[1:][order] = 0.0
    return idct(found, norm="ortho")


def first_component(covariance: np.ndarray) -> np.ndarray:
    """The direction of the largest variance (Karhunen-Loeve); its largest entry is positive.

    An eigenvector has no sign of its own, and which one a library returns is chance. Of entries
    that differ by rounding only, the first counts.

    >>> first_component(np.array([[1.0, -0.5], [-0.5, 1.0]])).round(3).tolist()
    [0.707, -0.707]
    """
    direction = np.linalg.eigh(covariance)[1][:, -1]
    return direction * np.sign(direction[np.round(np.abs(direction), 9).argmax()])
