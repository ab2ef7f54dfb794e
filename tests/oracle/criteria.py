"""Criteria counted the slow, obvious way: dictionaries, and a linear programme for moving earth."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from scipy.optimize import linprog

Row = tuple[Hashable, ...]
WILD = (None, "*")


def classes(rows: Sequence[Row]) -> dict[Row, list[int]]:
    """The records of each combination of quasi-identifiers."""
    found: dict[Row, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        found[row].append(i)
    return dict(found)


def smallest_class(rows: Sequence[Row]) -> int:
    return min(len(members) for members in classes(rows).values())


def fewest_people(rows: Sequence[Row], people: Sequence[Hashable]) -> int:
    """Different people in the class that has fewest; those without a key are one."""
    return min(len({people[i] for i in members}) for members in classes(rows).values())


def wildcard_matches(rows: Sequence[Row]) -> list[int]:
    """For each record, how many records agree with it wherever neither of the two is open."""

    def agree(a: Row, b: Row) -> bool:
        return all(x == y or x in WILD or y in WILD for x, y in zip(a, b, strict=True))

    return [sum(agree(a, b) for b in rows) for a in rows]


def distinct_l(values: Sequence[Hashable]) -> int:
    return len(set(values))


def entropy_l(values: Sequence[Hashable]) -> float:
    shares = [count / len(values) for count in Counter(values).values()]
    return math.exp(-sum(p * math.log(p) for p in shares))


def recursive_l(values: Sequence[Hashable], c: float) -> int:
    """The largest l with r1 < c (r_l + ... + r_m), trying every l."""
    r = sorted(Counter(values).values(), reverse=True)
    return max([0, *(l for l in range(1, len(r) + 1) if r[0] < c * sum(r[l - 1 :]))])


def emd(p: Sequence[float], q: Sequence[float], ground: np.ndarray) -> float:
    """The least work that turns distribution p into q: the transport problem itself."""
    m = len(p)
    out = np.kron(np.eye(m), np.ones((1, m)))
    into = np.kron(np.ones((1, m)), np.eye(m))
    solved = linprog(
        ground.reshape(-1),
        A_eq=np.vstack((out, into)),
        b_eq=np.concatenate((p, q)),
        bounds=(0, None),
        method="highs",
    )
    assert solved.success, solved.message
    return float(solved.fun)


def shares(values: Sequence[Hashable], domain: Sequence[Hashable]) -> list[float]:
    counted = Counter(values)
    return [counted[v] / len(values) for v in domain]


def equal_ground(m: int) -> np.ndarray:
    return 1.0 - np.eye(m)


def ordered_ground(m: int) -> np.ndarray:
    ranks = np.arange(m)
    return np.abs(ranks[:, None] - ranks[None, :]) / max(m - 1, 1)


def tree_ground(paths: Sequence[Sequence[str]]) -> np.ndarray:
    """The level where two paths from leaf to root (all equally long) meet, over their height."""
    height = len(paths[0]) - 1

    def meet(a: Sequence[str], b: Sequence[str]) -> int:
        return next(h for h in range(height + 1) if a[h:] == b[h:])

    return np.array([[meet(a, b) / height for b in paths] for a in paths])


def closeness(
    groups: Sequence[Sequence[Hashable]], domain: Sequence[Hashable], ground: np.ndarray
) -> list[float]:
    """Each group's distance from all groups together."""
    whole = shares([v for group in groups for v in group], domain)
    return [emd(shares(group, domain), whole, ground) for group in groups]


def ordered_closeness_with_missing(groups: Sequence[Sequence[int | None]]) -> list[float]:
    """The bound that the criterion documents: the missing share, then the present values."""
    everyone = [v for group in groups for v in group]
    domain = sorted({v for v in everyone if v is not None})
    whole = [v for v in everyone if v is not None]
    b = len(whole) / len(everyone)
    found = []
    for group in groups:
        present = [v for v in group if v is not None]
        a = len(present) / len(group)
        apart = 0.0
        if present and len(domain) > 1:
            apart = emd(shares(present, domain), shares(whole, domain), ordered_ground(len(domain)))
        found.append(abs(a - b) + min(a, b) * apart)
    return found


def ground_with_missing(m: int, ground: Callable[[int], np.ndarray]) -> np.ndarray:
    """The ground distance with a last point, missing, at distance 1 from every value."""
    wide = np.ones((m + 1, m + 1))
    wide[:m, :m] = ground(m)
    wide[m, m] = 0.0
    return wide


Group = Sequence[Hashable]


def known(group: Group) -> list[Hashable]:
    """The values that are not missing, nor what readers take for missing."""
    return [v for v in group if v not in (None, "", "*")]


def largest_share(group: Group, value: Hashable = None) -> float:
    """The largest share of a value (or of the one named) among the known ones."""
    there = known(group)
    if not there:
        return 0.0
    counted = Counter(there)
    return (counted[value] if value is not None else max(counted.values())) / len(there)


def weight_of_kinds(group: Group, categories: Sequence[Sequence[str]]) -> float:
    """Sun, Sun & Wang: the weights of the different values, (i - 1) / (m - 1) for category i."""
    total = 0.0
    for value in set(known(group)):
        (place,) = [i for i, category in enumerate(categories) if value in category]
        total += place / (len(categories) - 1)
    return total


def gains(groups: Sequence[Group]) -> list[list[tuple[float, float]]]:
    """For each group and each value of the whole: its share there, and in the whole."""
    everyone = [v for group in groups for v in known(group)]
    domain = sorted(set(everyone), key=str)
    whole = {v: everyone.count(v) / len(everyone) for v in domain}
    found = []
    for group in groups:
        there = known(group)
        found.append([(there.count(v) / len(there) if there else 0.0, whole[v]) for v in domain])
    return found


def beta_gain(pairs: Sequence[tuple[float, float]]) -> float:
    """Cao & Karras: the largest relative gain."""
    return max([0.0, *((q - p) / p for q, p in pairs)])


def enhanced_holds(pairs: Sequence[tuple[float, float]], beta: float) -> bool:
    return all((q - p) / p <= min(beta, -math.log(p)) + 1e-9 for q, p in pairs if q > p)


def log_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """Brickell & Shmatikov: the largest |log2(q / p)|; infinite where a value is lacking."""
    return max([0.0, *(abs(math.log2(q / p)) if q > 0 else math.inf for q, p in pairs)])


def belief_shift(pairs: Sequence[tuple[float, float]]) -> float:
    """The largest change of a share; none for a group of which nothing is known."""
    return max(abs(q - p) for q, p in pairs) if any(q > 0 for q, _ in pairs) else 0.0


def covers(label: Hashable, value: Hashable) -> bool:
    """Whether a label covers a value: itself, an interval "[a, b]", a set "{a, b}" or "*", and a
    missing value where it says "or missing"."""
    if label == "*":
        return True
    if isinstance(label, str) and label.endswith(" or missing"):
        return value is None or covers(label.removesuffix(" or missing"), value)
    if label is None or value is None:
        return label is value
    text = str(label)
    if text.startswith("["):
        low, high = (float(end) for end in text[1:-1].split(","))
        return low <= float(str(value)) <= high
    if text.startswith("{"):
        return str(value) in [part.strip() for part in text[1:-1].split(",")]
    return text == str(value)


def fitting(published: Sequence[Row], people: Sequence[Row]) -> list[int]:
    """For each published record, the people whom all its labels cover."""
    return [
        sum(all(covers(a, b) for a, b in zip(row, person, strict=True)) for person in people)
        for row in published
    ]


def presence(published: Sequence[Row], people: Sequence[Row]) -> list[float]:
    """For each person the summed chances, one over the people whom a record fits, cut at 1."""
    fits = fitting(published, people)
    return [
        min(1.0, sum(1 / f for row, f in zip(published, fits, strict=True)
                     if all(covers(a, b) for a, b in zip(row, person, strict=True))))
        for person in people
    ]  # fmt: skip


def kinds_of(group: Group, categories: Sequence[Sequence[str]]) -> list[int]:
    """The category of each known value."""
    return [[value in one for one in categories].index(True) for value in known(group)]


def pd_recursive(group: Group, may: Sequence[Hashable], c: float, l: int) -> bool:
    """Machanavajjhala et al. (2007), by their two cases: s_y is the y-th most frequent value, the
    first of which positive disclosure is not allowed."""
    ranked = Counter(group).most_common()
    if not ranked:
        return False
    r = [0, *(count for _, count in ranked)]
    m = len(ranked)
    y = next((i for i, (value, _) in enumerate(ranked, 1) if value not in may), None)
    if y is None:
        return True
    if l == 1:
        return r[y] < c * sum(r)
    if y <= l - 1:
        return r[y] < c * sum(r[l : m + 1])
    return r[y] < c * (sum(r[l - 1 : y]) + sum(r[y + 1 : m + 1]))
