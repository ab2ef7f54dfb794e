"""Draws one figure in a process of its own: a Vega-Lite chart from standard input, an image out.

The drawing library brings a browser's engine, which ends its process where it gets no memory; run
so, it ends nothing else. This file is run by its path and needs nothing of Sfumato.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def draw(format: str, version: str, scale: float) -> bytes:
    """The chart on standard input as .svg, .png or .pdf."""
    import vl_convert

    spec = json.load(sys.stdin.buffer)
    # Nothing is fetched: all data are in the chart.
    words: Any = {"vl_version": version, "allowed_base_urls": []}
    if format == "svg":
        return str(vl_convert.vegalite_to_svg(spec, **words)).encode()
    drawn = vl_convert.vegalite_to_png if format == "png" else vl_convert.vegalite_to_pdf
    return bytes(drawn(spec, scale=scale, **words))


if __name__ == "__main__":
    image = draw(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    sys.stdout.buffer.write(image)
