"""Pairs in a general graph, most pairs, then least cost, for whole numbers of any size: `matching` without its limits.

Costs of any size, thousands of edges at most. `near_ties` asks it what 64 bits can't tell; the tests ask it whether
`matching` is right, since it does the same in plain Python. The dual that the prices belong to stands in `matching`. We
keep every slack >= 0, matched edges tight (slack 0) and blossoms as full as they can be; what is missing at first is
that no vertex is both single and priced.

One search for each such vertex, the root. An alternating tree grows from it along tight edges: vertices at even
distance are outer, at odd distance inner. `time` flows: outer prices fall and inner ones rise by one a unit (outer
blossoms gain 2, inner ones lose 2), which keeps the tree tight. What happens next is the earliest of

    grow      an edge from an outer vertex to one outside the tree is tight: its node is inner, that one's mate outer
    contract  an edge between two outer nodes is tight: the odd cycle becomes one node, a blossom, outer as a whole
    expand    an inner blossom's z is 0: it is taken apart, the way through it stays in the tree
    end       an edge to another single vertex is tight, or an outer vertex's price is 0: the way from the root is
              flipped, and the root is matched (in the second case at the expense of a vertex that may be single)

Why one search suffices for a root. Ends never undo one another: single vertices without a price stay allowed, and every
search leaves one priced single vertex fewer. Why whole numbers suffice: weights and z are even, so all prices in a tree
have the same parity, the slack between two outer vertices is even, and half of it is whole.

Lazy prices. A node in the tree remembers since when; `_settle` books what the time since then did. Events are kept in
one heap and judged when their time comes: a stale one is known by its slack not being 0. What can't come before the
earliest known end is not even noted, and a vertex outside the tree keeps only its earliest edge.

Sources: Edmonds 1965 (blossoms, the dual), Galil 1986 (survey; searches by time).
"""

import heapq
from collections.abc import Sequence
from typing import Final

__all__ = ["Blossoms", "least_cost_pairs"]

_OUTSIDE: Final = 0
_OUTER: Final = 1
_INNER: Final = -1
"""Labels of nodes; as numbers they are the sign with which time lowers a price."""


def least_cost_pairs(count: int, edges: Sequence[tuple[int, int, int]]) -> list[int]:
    """The mate of each vertex, -1 = single, in a matching of the most pairs, then of the least total cost."""
    lowest, highest = (choose([cost for _, _, cost in edges], default=0) for choose in (min, max))
    most = (highest - lowest) * (count // 2) + 1
    search = Blossoms(count, [(u, v, 2 * (most - (cost - lowest))) for u, v, cost in edges])
    search.solve()
    return search.mate


class Blossoms:
    """Prices, pairs and blossoms, and one search after the other that improves them.

    A node is a vertex (its own number) or a blossom (numbers from `count` up). A node is on top if no blossom holds it.
    """

    def __init__(self, count: int, edges: Sequence[tuple[int, int, int]]) -> None:
        """`edges` are (vertex, vertex, even weight > 0), no two alike; every price begins as half the best weight."""
        self.near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        """The neighbours of each vertex, with the weight of the edge."""
        for u, v, weight in edges:
            self.near[u].append((v, weight))
            self.near[v].append((u, weight))
        self.mate = [-1] * count
        self.price = [max([weight for _, weight in near], default=0) // 2 for near in self.near]
        self.top = list(range(count))
        """The node on top that holds each vertex."""
        # For each node, vertices first.
        self.z = [0] * count
        self.base = list(range(count))
        """The one vertex that is not matched inside the node."""
        self.members = [[vertex] for vertex in range(count)]
        self.holder = [-1] * count
        """The blossom that directly holds the node."""
        self.cycle: list[list[int]] = [[] for _ in range(count)]
        """The nodes of a blossom, the one with the base first; 1 and 2, 3 and 4, ... are matched to each other."""
        self.links: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        """The tight edge from each node of the cycle to the next, as (vertex of the one, vertex of the other)."""
        self.label = [_OUTSIDE] * count
        self.since = [0] * count
        self.entry = [(-1, -1)] * count
        """The edge by which an inner node came into the tree, (vertex of its parent, its own vertex)."""
        # Of the search that is going on.
        self.time = 0
        self.tree: list[int] = []
        self.events: list[tuple[int, int, int, int]] = []
        """(time, u, v, weight of the edge), or (time, blossom, -1, 0) where one may be expanded."""
        self.earliest: dict[int, int] = {}
        """When the earliest edge to a vertex outside the tree becomes tight, as far as noted."""
        self.end = (0, -1, -1)
        """The earliest end known: (time, outer vertex, single vertex or -1)."""

    def solve(self) -> None:
        """Find the heaviest matching."""
        self.begin()
        for root, near in enumerate(self.near):
            if near and self.mate[root] < 0 < self.price[root]:
                self.run(root)

    def begin(self) -> None:
        """A start that is cheap to find: prices lowered to the tightest edge, and matched where that is free."""
        price, mate = self.price, self.mate
        for u, near in enumerate(self.near):
            if mate[u] < 0 and near:
                price[u] = max(0, max([weight - price[v] for v, weight in near]))
                for v, weight in near:
                    if mate[v] < 0 and price[u] + price[v] == weight:
                        mate[u], mate[v] = v, u
                        break

    def run(self, root: int) -> None:
        """One search: afterwards the root is matched, or a vertex without a price is single in its place."""
        self.time, self.tree, self.events = 0, [], []
        self.earliest = {}
        self.end = (self.price[root], root, -1)
        self._make_outer(self.top[root])
        while self.events and self.events[0][0] < self.end[0]:
            self.time, u, v, weight = heapq.heappop(self.events)
            if v < 0:
                # Since it was noted, a blossom may have been swallowed by another one.
                if self.label[u] == _INNER:
                    self._expand(u)
            elif self.top[u] != self.top[v] and self._price_now(u) + self._price_now(v) == weight:
                if self.label[self.top[v]] == _OUTSIDE:
                    self._grow(u, v)
                elif self.label[self.top[v]] == _OUTER:
                    self._contract(u, v)
        self.time, outer, single = self.end
        for node in self.tree:
            self._settle(node)
            self.label[node] = _OUTSIDE
        self._flip(outer, single)
        if single >= 0:
            self._rebase(self.top[single], single)
            self.mate[single] = outer

    def _price_now(self, vertex: int) -> int:
        node = self.top[vertex]
        return self.price[vertex] - self.label[node] * (self.time - self.since[node])

    def _settle(self, node: int) -> None:
        """Book what the time since the node was labelled did to its prices."""
        change = self.label[node] * (self.time - self.since[node])
        if change:
            for vertex in self.members[node]:
                self.price[vertex] -= change
            if self.cycle[node]:
                self.z[node] += 2 * change
        self.since[node] = self.time

    def _mark(self, node: int, label: int) -> None:
        self.label[node] = label
        self.since[node] = self.time
        self.tree.append(node)

    def _make_outer(self, node: int) -> None:
        self._mark(node, _OUTER)
        for vertex in self.members[node]:
            self._scan(vertex)

    def _make_inner(self, node: int, entry: tuple[int, int]) -> None:
        self._mark(node, _INNER)
        self.entry[node] = entry
        if self.cycle[node]:
            heapq.heappush(self.events, (self.time + self.z[node] // 2, node, -1, 0))

    def _scan(self, u: int) -> None:
        """Note what a vertex that has just become outer can lead to."""
        time, own, price, end = self.time, self.top[u], self.price[u], self.end[0]
        if time + price < end:
            self.end, end = (time + price, u, -1), time + price
        for v, weight in self.near[u]:
            node = self.top[v]
            label = self.label[node]
            if label == _INNER or node == own:
                continue
            slack = price + self.price[v] - weight
            if label == _OUTER:
                when = time + (slack - time + self.since[node]) // 2
                if when < end:
                    heapq.heappush(self.events, (when, u, v, weight))
            elif self.mate[self.base[node]] < 0:
                if time + slack < end:
                    self.end, end = (time + slack, u, v), time + slack
            else:
                self._note(time + slack, u, v, weight)

    def _note(self, when: int, u: int, v: int, weight: int) -> None:
        """Note when the edge from outer u to v outside the tree becomes tight, if that is news."""
        if when < self.end[0] and when < self.earliest.get(v, self.end[0]):
            self.earliest[v] = when
            heapq.heappush(self.events, (when, u, v, weight))

    def _grow(self, u: int, v: int) -> None:
        node = self.top[v]
        self._make_inner(node, (u, v))
        self._make_outer(self.top[self.mate[self.base[node]]])

    def _contract(self, u: int, v: int) -> None:
        """Make one node of the cycle that the edge u-v closes in the tree."""
        passed = set(self._outer_ancestors(self.top[u]))
        joint = next(node for node in self._outer_ancestors(self.top[v]) if node in passed)
        up, up_links = self._climb(self.top[u], joint)
        down, down_links = self._climb(self.top[v], joint)
        cycle = [joint, *reversed(up), *down]
        links = [*[(y, x) for x, y in reversed(up_links)], (u, v), *down_links]
        fresh = [vertex for node in cycle if self.label[node] == _INNER for vertex in self.members[node]]
        blossom = len(self.z)
        for node in cycle:
            self._settle(node)
            self.label[node] = _OUTSIDE
            self.holder[node] = blossom
        self.z.append(0)
        self.base.append(self.base[joint])
        self.members.append([vertex for node in cycle for vertex in self.members[node]])
        self.holder.append(-1)
        self.cycle.append(cycle)
        self.links.append(links)
        self.label.append(_OUTSIDE)
        self.since.append(self.time)
        self.entry.append((-1, -1))
        for vertex in self.members[blossom]:
            self.top[vertex] = blossom
        self._mark(blossom, _OUTER)
        for vertex in fresh:
            self._scan(vertex)

    def _outer_ancestors(self, node: int) -> list[int]:
        """The outer nodes from this one up to the root."""
        nodes = [node]
        while (mate := self.mate[self.base[nodes[-1]]]) >= 0:
            nodes.append(self.top[self.entry[self.top[mate]][0]])
        return nodes

    def _climb(self, node: int, joint: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The nodes from an outer one up to, but without, an ancestor, and the edge from each to the next."""
        nodes, links = [], []
        while node != joint:
            base = self.base[node]
            mate = self.mate[base]
            parent, own = self.entry[self.top[mate]]
            nodes += [node, self.top[mate]]
            links += [(base, mate), (own, parent)]
            node = self.top[parent]
        return nodes, links

    def _expand(self, blossom: int) -> None:
        """Take an inner blossom without z apart; the even way from its entry to its base stays in the tree."""
        self._settle(blossom)
        self.label[blossom] = _OUTSIDE
        cycle, links = self.cycle[blossom], self.links[blossom]
        self.cycle[blossom] = []
        for node in cycle:
            self.holder[node] = -1
            for vertex in self.members[node]:
                self.top[vertex] = node
        entry = self.entry[blossom]
        place = cycle.index(self.top[entry[1]])
        self._make_inner(cycle[place], entry)
        outer = []
        while place:
            # Every node but the base's is matched to a neighbour in the cycle, so the way begins with that one.
            if place % 2:
                between, place = place + 1, (place + 2) % len(cycle)
                entry = links[between]
            else:
                between, place = place - 1, place - 2
                entry = links[place][1], links[place][0]
            self._mark(cycle[between], _OUTER)
            self._make_inner(cycle[place], entry)
            outer.append(cycle[between])
        for node in outer:
            for vertex in self.members[node]:
                self._scan(vertex)
        for node in cycle:
            if self.label[node] == _OUTSIDE:
                self._look_back(node)

    def _look_back(self, node: int) -> None:
        """Note the edges from the tree to a node that has just dropped out of it."""
        for v in self.members[node]:
            self.earliest.pop(v, None)
            for u, weight in self.near[v]:
                if self.label[self.top[u]] == _OUTER:
                    self._note(self.time + self._price_now(u) + self.price[v] - weight, u, v, weight)

    def _flip(self, vertex: int, partner: int) -> None:
        """Match an outer vertex anew (-1 = leave it single), and change the way from it to the root accordingly."""
        while True:
            node = self.top[vertex]
            former = self.mate[self.base[node]]
            self._rebase(node, vertex)
            self.mate[vertex] = partner
            if former < 0:
                return
            inner = self.top[former]
            vertex, partner = self.entry[inner]
            self._rebase(inner, partner)
            self.mate[partner] = vertex

    def _rebase(self, node: int, vertex: int) -> None:
        """Make a vertex the one of its node that is not matched inside."""
        self.base[node] = vertex
        cycle, links = self.cycle[node], self.links[node]
        if not cycle:
            return
        child = vertex
        while self.holder[child] != node:
            child = self.holder[child]
        self._rebase(child, vertex)
        place = cycle.index(child)
        # From the new base to the old one by the even way, the other edge of each two is matched now.
        changed = range(place + 1, len(cycle), 2) if place % 2 else range(0, place, 2)
        for at in changed:
            x, y = links[at]
            self._rebase(cycle[at], x)
            self._rebase(cycle[(at + 1) % len(cycle)], y)
            self.mate[x], self.mate[y] = y, x
        self.cycle[node] = cycle[place:] + cycle[:place]
        self.links[node] = links[place:] + links[:place]
