"""(k,1)-anonymity: every published record fits k original ones."""

from __future__ import annotations

from typing import Any, ClassVar

from .originals import OfOriginals


class K1Anonymity(OfOriginals):
    """Every published record fits at least k of the original records, (k,1)-anonymity.

    The figure is the least number of original records whose values all labels of a published record
    cover. It says less than k-anonymity: published records may all differ, and an intruder who sees
    which originals fit which records can rule some out. It is what searches achieve that generalize
    each record by itself.

    It is counted against the original table. A release on its own needs `original`, the file of the
    originals. In a search, a class of k records is enough: its label covers them all. A missing
    value fits originals without a value, a suppressed one all of them. A published set fits all
    originals that contain it; of sets, no more than k originals are counted, so that the figure is
    k where more fit.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> before = table({"age": [20, 25, 29]}, quasi=["age"])
    >>> after = table({"age": ["[20, 25]", "[20, 29]", "[25, 29]"]}, quasi=["age"])
    >>> print(K1Anonymity(k=3).check_pair(Pair.of(before, after)))
    (k,1)-anonymity is 2 (limit 3) in 2 of 3 classes
    """

    name: ClassVar[str] = "k1-anonymity"
    example: ClassVar[dict[str, Any]] = {"k": 5}
    paper: ClassVar[str] = (
        "Gionis, Mazza & Tassa (2008), k-anonymization revisited, ICDE; Katirai (2006), A "
        "theory and toolkit for the mathematics of privacy, MSc thesis, MIT"
    )
    words: ClassVar[str] = "(k,1)-anonymity"
