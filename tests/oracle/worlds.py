"""All worlds that releases leave open, one by one: who could have which value."""

from __future__ import annotations

from collections import Counter
from itertools import product


def all_worlds(classes: list[tuple[int, ...]], values: list[int]) -> list[tuple[int, ...]]:
    """Every way to give the people values that shows the same of each class."""
    shown = _shown(classes, values)
    ways = product(sorted(set(values)), repeat=len(values))
    return [world for world in ways if _shown(classes, world) == shown]


def _shown(classes: list[tuple[int, ...]], values: object) -> dict[tuple[int, int], Counter]:
    found: dict[tuple[int, int], Counter] = {}
    for tuple_, value in zip(classes, values, strict=True):  # type: ignore[call-overload]
        for release, own in enumerate(tuple_):
            if own >= 0:
                found.setdefault((release, own), Counter())[value] += 1
    return found


def hidden(classes: list[tuple[int, ...]], values: list[int]) -> dict[tuple[int, ...], int]:
    """For each group of people with the same classes: its size, or, where every value that it has
    can be fewer in some world, the fewest records of any of its classes with a value whose number
    in the group differs between worlds.

    They may keep a value, too, that is no more frequent among them than among all who share some of
    their classes, if of those of them who are in no other release every value can be fewer, and
    nobody else who is in the same releases shares these classes.
    """
    worlds = all_worlds(classes, values)
    shown = _shown(classes, values)
    told = {group: _told(group, classes, values, worlds) for group in set(classes)}
    found = {}
    for group, (own, fewer, varying) in told.items():
        many = sum(own.values())
        found[group] = many
        ways = [varying] if set(own) <= fewer else []
        for here in product([False, True], repeat=len(group)):
            left = tuple(c if at else -1 for c, at in zip(group, here, strict=True))
            if left == group or left not in told or not set(told[left][0]) <= told[left][1]:
                continue
            shared = [one for one in told if _like(group, one) and _within(left, one)]
            if shared != [group]:
                continue
            alone = Counter(
                v for own_, v in zip(classes, values, strict=True) if _within(left, own_)
            )
            usual = {v for v in own if own[v] * sum(alone.values()) <= alone[v] * many}
            ways += [varying | set(own)] if set(own) <= fewer | usual else []
        for values_ in ways:
            places = [(r, c) for r, c in enumerate(group) if c >= 0]
            records = [sum(shown[place][v] for v in values_) for place in places]
            found[group] = max(found[group], min(records))
    return found


def _like(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all((a < 0) == (b < 0) for a, b in zip(one, other, strict=True))


def _within(left: tuple[int, ...], group: tuple[int, ...]) -> bool:
    return all(a in (-1, b) for a, b in zip(left, group, strict=True))


def _told(
    group: tuple[int, ...],
    classes: list[tuple[int, ...]],
    values: list[int],
    worlds: list[tuple[int, ...]],
) -> tuple[Counter, set[int], set[int]]:
    """What a group has, of what it may have had fewer, and what differs between worlds."""
    members = [i for i, own in enumerate(classes) if own == group]
    counts = [Counter(world[i] for i in members) for world in worlds]
    own = Counter(values[i] for i in members)
    fewer = {v for v in own if any(count[v] < own[v] for count in counts)}
    return own, fewer, {v for v in set(values) if len({count[v] for count in counts}) > 1}


def in_places(classes: list[tuple[int, ...]], values: list[int]) -> dict[tuple[int, ...], int]:
    """For each group the most places that went its people's way, over all ways to let people take
    the places of others who left in the release before and had the same value."""
    found = dict.fromkeys(classes, 0)
    for after in _successions(classes, values):
        heads = set(range(len(classes))) - set(after.values())
        ways = {}
        for head in heads:
            line = [head]
            while line[-1] in after:
                line.append(after[line[-1]])
            way = tuple(max(own) for own in zip(*(classes[i] for i in line), strict=True))
            ways |= dict.fromkeys(line, way)
        many = Counter(ways[head] for head in heads)
        for group in found:
            sizes = [many[ways[i]] for i, own in enumerate(classes) if own == group]
            found[group] = max(found[group], min(sizes))
    return found


def _successions(classes: list[tuple[int, ...]], values: list[int]) -> list[dict[int, int]]:
    """Who takes whose place, in every possible way."""
    found: list[dict[int, int]] = [{}]
    for i, own in enumerate(classes):
        last = max(r for r, c in enumerate(own) if c >= 0)
        nexts = [
            j
            for j, other in enumerate(classes)
            if min(r for r, c in enumerate(other) if c >= 0) == last + 1 and values[i] == values[j]
        ]
        found += [{**one, i: j} for one in found for j in nexts if j not in one.values()]
    return found


def possible(classes: list[tuple[int, ...]], values: list[int]) -> dict[tuple[int, ...], int]:
    """For each group the fewest records of any class of its people that one of them could have in
    some world."""
    worlds, shown = all_worlds(classes, values), _shown(classes, values)
    found = dict.fromkeys(classes, len(classes))
    for i, own in enumerate(classes):
        could = {world[i] for world in worlds}
        for place in ((r, c) for r, c in enumerate(own) if c >= 0):
            found[own] = min(found[own], sum(shown[place][v] for v in could))
    return found
