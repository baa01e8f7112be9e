"""Order within layers with few crossings: weighted median sweeps, then swaps of neighbours where affordable."""

from __future__ import annotations

from itertools import pairwise

from .layers import Layered

_FINE = 3000
"""Up to this many links crossings are counted exactly and neighbours are swapped."""
_SWEEPS = ((3_000, 12), (30_000, 6), (300_000, 2))
"""Links up to which so many sweeps are made; none above (the depth first order is good already)."""


def reduce_crossings(layered: Layered) -> None:
    """Reorder ``layered.layers`` in place."""
    links = len(layered.below.items)
    sweeps = next((times for limit, times in _SWEEPS if links <= limit), 0)
    position = [0] * layered.count
    for layer in layered.layers:
        _number(layer, position)
    if links > _FINE:
        for sweep in range(sweeps):
            _sweep(layered, position, downward=sweep % 2 == 0)
        return
    best, fewest = [layer[:] for layer in layered.layers], _all_crossings(layered, position)
    for sweep in range(sweeps):
        if fewest == 0:
            break
        _sweep(layered, position, downward=sweep % 2 == 0)
        _swap_neighbours(layered, position)
        crossings = _all_crossings(layered, position)
        if crossings < fewest:
            best, fewest = [layer[:] for layer in layered.layers], crossings
    layered.layers = best


def _number(layer: list[int], position: list[int]) -> None:
    """Note the place of every vertex of a layer."""
    for place, vertex in enumerate(layer):
        position[vertex] = place


def _sweep(layered: Layered, position: list[int], downward: bool) -> None:
    """Sort every layer by the medians of its neighbours in the layer before it."""
    neighbours = layered.above if downward else layered.below
    layers = layered.layers if downward else reversed(layered.layers)
    starts, items = neighbours.starts, neighbours.items
    for layer in layers:
        if len(layer) < 2:
            continue
        keys: dict[int, float] = {}
        for vertex in layer:
            around = [position[other] for other in items[starts[vertex] : starts[vertex + 1]]]
            if around:
                keys[vertex] = _median(around)
        _sort_keyed(layer, keys)
        _number(layer, position)


def _median(places: list[int]) -> float:
    """Return the median; between two middle ones it leans to the side where the others are closer together."""
    places.sort()
    count = len(places)
    middle = count // 2
    if count % 2:
        return places[middle]
    if count == 2:
        return (places[0] + places[1]) / 2
    left, right = places[middle - 1] - places[0], places[-1] - places[middle]
    if left + right == 0:
        return (places[middle - 1] + places[middle]) / 2
    return (places[middle - 1] * right + places[middle] * left) / (left + right)


def _sort_keyed(layer: list[int], keys: dict[int, float]) -> None:
    """Sort the vertices that have a key among the places they hold; the others stay where they are."""
    if len(keys) == len(layer):
        layer.sort(key=keys.__getitem__)
        return
    slots = [place for place, vertex in enumerate(layer) if vertex in keys]
    ordered = sorted((layer[place] for place in slots), key=keys.__getitem__)
    for place, vertex in zip(slots, ordered, strict=True):
        layer[place] = vertex


def _swap_neighbours(layered: Layered, position: list[int]) -> None:
    """Swap neighbours wherever that alone saves crossings, in a few rounds."""
    for _ in range(4):
        improved = False
        for layer in layered.layers:
            for place in range(len(layer) - 1):
                left, right = layer[place], layer[place + 1]
                if _pair_gain(layered, position, left, right) > 0:
                    layer[place], layer[place + 1] = right, left
                    position[left], position[right] = place + 1, place
                    improved = True
        if not improved:
            return


def _pair_gain(layered: Layered, position: list[int], left: int, right: int) -> int:
    """Return how many crossings swapping two neighbours would save."""
    gain = 0
    for neighbours in (layered.above, layered.below):
        ours = sorted(position[other] for other in neighbours.of(left))
        theirs = sorted(position[other] for other in neighbours.of(right))
        gain += _inversions(ours, theirs) - _inversions(theirs, ours)
    return gain


def _inversions(ours: list[int], theirs: list[int]) -> int:
    """Count the pairs whose first (of ``ours``) lies right of the second (of ``theirs``); both are sorted."""
    count = below = 0
    for place in ours:
        while below < len(theirs) and theirs[below] < place:
            below += 1
        count += below
    return count


def _all_crossings(layered: Layered, position: list[int]) -> int:
    """Count the crossings between all neighbouring layers."""
    return sum(_crossings(layered, position, upper, len(lower)) for upper, lower in pairwise(layered.layers))


def _crossings(layered: Layered, position: list[int], upper: list[int], lower_count: int) -> int:
    """Count the crossings below one layer with a Fenwick tree over the places of the next."""
    tree = [0] * (lower_count + 1)
    total = seen = 0
    for vertex in upper:
        ends = sorted(position[other] for other in layered.below.of(vertex))
        for end in ends:
            total += seen - _prefix(tree, end + 1)
        for end in ends:
            _add(tree, end + 1)
        seen += len(ends)
    return total


def _prefix(tree: list[int], index: int) -> int:
    """Return the sum of a Fenwick tree up to ``index``."""
    total = 0
    while index > 0:
        total += tree[index]
        index &= index - 1
    return total


def _add(tree: list[int], index: int) -> None:
    """Add one at ``index`` of a Fenwick tree."""
    while index < len(tree):
        tree[index] += 1
        index += index & -index
