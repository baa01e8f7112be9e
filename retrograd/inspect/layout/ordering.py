"""Orders the vertices within layers to reduce crossings: weighted-median sweeps, then swaps of neighbours."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..progress import followed
from .layers import Layered
from .ranks import Adjacency

_FINE = 3000
"""Up to this many links crossings are counted exactly and neighbours are swapped."""
_SWEEPS = ((3_000, 12), (30_000, 6), (300_000, 2))
"""Links up to which so many sweeps are made; none above (the depth first order is good already)."""
_SWAPS = 4
"""Rounds of swapping neighbours after one sweep."""


def reduce_crossings(layered: Layered) -> None:
    """Reorder ``layered.layers`` in place."""
    links = len(layered.below.items)
    sweeps = next((times for limit, times in _SWEEPS if links <= limit), 0)
    if not sweeps:
        return
    order = _Order(layered)
    if links > _FINE:
        for sweep in range(sweeps):
            order.sweep(downward=sweep % 2 == 0)
        return
    order.recount(range(len(layered.layers)))
    best, fewest = [layer[:] for layer in layered.layers], sum(order.crossings)
    still = 0
    for sweep in range(sweeps):
        if fewest == 0 or still == 2:
            break  # nothing moved in either direction, and nothing would move again
        moved = order.sweep(downward=sweep % 2 == 0)
        order.recount(moved)
        moved |= order.swap_neighbours()
        still = 0 if moved else still + 1
        crossings = sum(order.crossings)
        if crossings < fewest:
            best, fewest = [layer[:] for layer in layered.layers], crossings
    layered.layers = best


@dataclass(slots=True)
class _Order:
    """The order of every layer while it is being improved."""

    layered: Layered
    position: list[int] = field(init=False)
    """Per vertex its place in its layer."""
    crossings: list[int] = field(init=False)
    """Per layer the crossings between it and the next."""
    below: _Side = field(init=False)
    above: _Side = field(init=False)

    def __post_init__(self) -> None:
        self.position = [0] * self.layered.count
        self.below, self.above = _sides(self.layered)
        self.crossings = [0] * len(self.layered.layers)
        for layer in self.layered.layers:
            self._number(layer)

    def _number(self, layer: list[int]) -> None:
        """Note the place of every vertex of a layer."""
        for place, vertex in enumerate(layer):
            self.position[vertex] = place

    def sweep(self, downward: bool) -> set[int]:
        """Sort every layer by the medians of its neighbours in the layer before it; return those that changed."""
        layers, position = self.layered.layers, self.position
        neighbours = self.above if downward else self.below
        changed = set()
        for number in followed(range(len(layers)) if downward else range(len(layers) - 1, -1, -1)):
            layer = layers[number]
            if len(layer) < 2:
                continue
            keys: dict[int, float] = {}
            for vertex in layer:
                around = neighbours.places(position, vertex)
                if around:
                    keys[vertex] = _median(around)
            ordered = _sorted_by(layer, keys)
            if ordered != layer:
                layer[:] = ordered
                self._number(layer)
                changed.add(number)
        return changed

    def recount(self, moved: Iterable[int]) -> None:
        """Count the crossings above and below the layers that moved."""
        for number in {gap for layer in moved for gap in (layer - 1, layer) if gap >= 0}:
            self.crossings[number] = self._crossings(number)

    def _crossings(self, number: int) -> int:
        """Count the crossings between a layer and the next."""
        layers, position = self.layered.layers, self.position
        if number + 1 == len(layers):
            return 0
        if self.layered.ports is None and (len(layers[number]) < 2 or len(layers[number + 1]) < 2):
            return 0  # lines to one card cross at its ports only
        ends: list[float] = []
        for vertex in layers[number]:
            ends += self.below.in_order(position, vertex)
        return _disorder(ends)

    def swap_neighbours(self) -> set[int]:
        """Swap neighbours wherever that alone saves crossings, in a few rounds; return the layers that changed."""
        changed = set()
        for _ in range(_SWAPS):
            improved = set()
            for number, layer in enumerate(self.layered.layers):
                if (self.crossings[number] or (number and self.crossings[number - 1])) and self._swap_in(layer):
                    improved.add(number)
                    self.recount((number,))
            if not improved:
                break
            changed |= improved
        return changed

    def _swap_in(self, layer: list[int]) -> bool:
        """Go through a layer once and swap neighbours; return whether any were."""
        improved = False
        for place in range(len(layer) - 1):
            left, right = layer[place], layer[place + 1]
            if self._gain(left, right) > 0:
                layer[place], layer[place + 1] = right, left
                self.position[left], self.position[right] = place + 1, place
                improved = True
        return improved

    def _gain(self, left: int, right: int) -> int:
        """Return how many crossings swapping two neighbours would save."""
        gain = 0
        for neighbours in (self.above, self.below):
            ours = sorted(neighbours.places(self.position, left))
            theirs = sorted(neighbours.places(self.position, right))
            gain += _inversions(ours, theirs) - _inversions(theirs, ours)
        return gain


class _Side:
    """The neighbours of every vertex on one side, and where links meet their cards."""

    def __init__(self, neighbours: Adjacency, own: Sequence[float] = (), far: Sequence[float] = ()) -> None:
        self._starts, self._items = neighbours.starts, neighbours.items
        self._own, self._far = own, far
        """Per item where its link ends on the vertex and on the neighbour, if cards have ports."""

    def places(self, position: list[int], vertex: int) -> list[float]:
        """Return where the links of a vertex lead to: places of neighbours, and of ports between them."""
        first, end = self._starts[vertex], self._starts[vertex + 1]
        if self._far:
            return [position[self._items[item]] + self._far[item] for item in range(first, end)]
        return [position[other] for other in self._items[first:end]]

    def in_order(self, position: list[int], vertex: int) -> list[float]:
        """Return the same from the leftmost link to the rightmost: links that may leave anywhere do not cross."""
        places = self.places(position, vertex)
        if not self._own:
            return sorted(places)
        return [place for _, place in sorted(zip(self._own[self._starts[vertex] :], places, strict=False))]


def _sides(layered: Layered) -> tuple[_Side, _Side]:
    """Return what lies below every vertex and what lies above."""
    below, above, ports = layered.below, layered.above, layered.ports
    if ports is None:
        return _Side(below), _Side(above)
    return (
        _Side(below, [ports.leaves[link] for link in below.links], [ports.enters[link] for link in below.links]),
        _Side(above, [ports.enters[link] for link in above.links], [ports.leaves[link] for link in above.links]),
    )


def _median(places: list[float]) -> float:
    """Return the median; between two middle ones it leans to the side where the others are closer together."""
    count = len(places)
    if count == 1:
        return places[0]
    if count == 2:
        return (places[0] + places[1]) / 2
    places.sort()
    middle = count // 2
    if count % 2:
        return places[middle]
    left, right = places[middle - 1] - places[0], places[-1] - places[middle]
    if left + right == 0:
        return (places[middle - 1] + places[middle]) / 2
    return (places[middle - 1] * right + places[middle] * left) / (left + right)


def _sorted_by(layer: list[int], keys: dict[int, float]) -> list[int]:
    """Return a layer with the vertices that have a key sorted among the places they hold; the others stay."""
    if len(keys) == len(layer):
        return sorted(layer, key=keys.__getitem__)
    found = layer[:]
    slots = [place for place, vertex in enumerate(layer) if vertex in keys]
    for place, vertex in zip(slots, sorted(keys, key=keys.__getitem__), strict=True):
        found[place] = vertex
    return found


def _inversions(ours: Sequence[float], theirs: Sequence[float]) -> int:
    """Count the pairs whose first (from ``ours``) is right of the second (from ``theirs``); both are sorted."""
    if not ours or not theirs or ours[-1] <= theirs[0]:
        return 0
    count = below = 0
    for place in ours:
        while below < len(theirs) and theirs[below] < place:
            below += 1
        count += below
    return count


def _disorder(ends: list[float]) -> int:
    """Count the pairs of which the first is the larger (at most ``_FINE`` numbers, so inserting is cheap)."""
    total, seen = 0, []  # type: int, list[float]
    highest = -1.0
    for number, end in enumerate(ends):
        if end >= highest:
            highest = end
            seen.append(end)
            continue
        place = bisect_right(seen, end)
        total += number - place
        insort(seen, end, lo=place)
    return total
