"""The ladder's eight stages, written down from its document with the corrections of the seed notes; and the best plan.

Players are plain values in canonical order; their `place` is their position in it. Nothing is fast here.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from evenmatch.domain.match import Reason
from evenmatch.numerics.seeds import generator


@dataclass(frozen=True)
class Player:
    """One waiting player; None = can't play that side."""

    place: int
    bw: float | None
    sc2: float | None
    misses: int = 0
    vetoed: tuple[str, ...] = ()
    region: str | None = None

    @property
    def bias(self) -> float:
        """How much better on the first side."""
        assert self.bw is not None
        assert self.sc2 is not None
        return self.bw - self.sc2

    def rating(self, is_bw: bool) -> float:
        """On one side."""
        rating = self.bw if is_bw else self.sc2
        assert rating is not None
        return rating


@dataclass
class Rules:
    """The document's numbers, and our choice of whose window counts."""

    population: int
    window_of: str = "lead"
    coefficient: float = 20
    passes: int = 2
    balance: float = 50
    queue_size: int = 0

    def max_diff(self, player: Player) -> int:
        """Stage 3."""
        scale = Fraction(12, 10) if self.population <= 10 else Fraction(1) if self.population <= 25 else Fraction(8, 10)
        pressure = min(Fraction(1), scale * self.queue_size / self.population)
        if pressure >= Fraction(20, 100):
            return 75 + player.misses * 25
        if pressure >= Fraction(10, 100):
            return 100 + player.misses * 35
        return 125 + player.misses * 45

    def accept(self, lead: Player, follow: Player, gap: float) -> bool:
        """Whether a gap keeps the window rule."""
        own, other = self.max_diff(lead), self.max_diff(follow)
        return gap <= {"lead": own, "either": max(own, other), "both": min(own, other)}[self.window_of]


def mean(ratings: list[float]) -> Fraction:
    """Exactly."""
    return sum((Fraction(rating) for rating in ratings), Fraction(0)) / len(ratings)


def equalize_lists(players: list[Player], balance: float = 50) -> tuple[list[Player], list[Player]]:
    """Stage 2, on top of stage 1's three sets."""
    bw_list = [p for p in players if p.bw is not None and p.sc2 is None]
    sc2_list = [p for p in players if p.sc2 is not None and p.bw is None]
    both = sorted([p for p in players if p.bw is not None and p.sc2 is not None], key=lambda p: (p.bias, p.place))
    delta_n = len(bw_list) - len(sc2_list)
    if delta_n < 0:
        for _ in range(min(-delta_n, len(both))):
            bw_list.append(both.pop())
    elif delta_n > 0:
        for _ in range(min(delta_n, len(both))):
            sc2_list.append(both.pop(0))
    while both:
        if len(bw_list) < len(sc2_list):
            bw_list.append(both.pop())
        elif len(bw_list) > len(sc2_list):
            sc2_list.append(both.pop(0))
        else:
            sc2_list.append(both.pop(0))
            if both:
                bw_list.append(both.pop())
    if not bw_list or not sc2_list:
        return bw_list, sc2_list
    mmr_delta = mean([p.rating(True) for p in bw_list]) - mean([p.rating(False) for p in sc2_list])
    counts = len(bw_list) - len(sc2_list)
    neutral_in_bw = sorted([p for p in bw_list if p.sc2 is not None], key=lambda p: (abs(p.bias), p.place))
    neutral_in_sc2 = sorted([p for p in sc2_list if p.bw is not None], key=lambda p: (abs(p.bias), p.place))
    if mmr_delta > balance and neutral_in_bw and abs(counts - 2) <= abs(counts):
        bw_list.remove(neutral_in_bw[0])
        sc2_list.append(neutral_in_bw[0])
    elif mmr_delta < -balance and neutral_in_sc2 and abs(counts + 2) <= abs(counts):
        sc2_list.remove(neutral_in_sc2[0])
        bw_list.append(neutral_in_sc2[0])
    return bw_list, sc2_list


def filter_by_priority(lead: list[Player], follow: list[Player]) -> tuple[list[Player], list[Player]]:
    """Stage 4."""
    size = min(len(lead), len(follow))
    lead, follow = ([*sorted(side, key=lambda p: (-p.misses, p.place))][:size] for side in (lead, follow))
    return lead, follow


def find_matches(
    lead: list[Player], follow: list[Player], is_bw: bool, rules: Rules
) -> tuple[list[tuple[Player, Player]], int]:
    """Stage 5: the matches, and how many candidates there were."""
    candidates = []
    for one in lead:
        for other in follow:
            gap = abs(one.rating(is_bw) - other.rating(not is_bw))
            if rules.accept(one, other, gap):
                score = gap * gap - rules.coefficient * (one.misses + other.misses)
                candidates.append((score, one.place, other.place, one, other))
    matches = []
    used: set[int] = set()
    for _, _, _, one, other in sorted(candidates, key=lambda c: c[:3]):
        if one.place not in used and other.place not in used:
            matches.append((one, other))
            used |= {one.place, other.place}
    return matches, len(candidates)


def refine(matches: list[tuple[Player, Player]], is_bw: bool, rules: Rules) -> tuple[list[tuple[Player, Player]], int]:
    """Stage 6: the matches, and how many swaps were made."""
    matches = matches.copy()
    swaps = 0

    def gap(one: Player, other: Player) -> float:
        return abs(one.rating(is_bw) - other.rating(not is_bw))

    for _ in range(rules.passes):
        swapped = False
        for i in range(len(matches) - 1):
            (lead_1, follow_1), (lead_2, follow_2) = matches[i], matches[i + 1]
            before = gap(lead_1, follow_1) * gap(lead_1, follow_1) + gap(lead_2, follow_2) * gap(lead_2, follow_2)
            after = gap(lead_1, follow_2) * gap(lead_1, follow_2) + gap(lead_2, follow_1) * gap(lead_2, follow_1)
            fits = rules.accept(lead_1, follow_2, gap(lead_1, follow_2)) and rules.accept(
                lead_2, follow_1, gap(lead_2, follow_1)
            )
            if after < before and fits:
                matches[i], matches[i + 1] = (lead_1, follow_2), (lead_2, follow_1)
                swapped = True
                swaps += 1
        if not swapped:
            break
    return matches, swaps


@dataclass
class Wave:
    """What a wave comes to."""

    pairs: list[tuple[int, int]]
    """Places, first side first."""
    reasons: list[Reason]
    equalized: tuple[int, int] = (0, 0)
    candidates: int = 0
    swaps: int = 0
    venues: list[tuple[str | None, str | None, str]] = field(default_factory=list)


def ladder(players: list[Player], rules: Rules) -> Wave:
    """Stages 1 to 6, and the reasons of stage 8."""
    rules.queue_size = len(players)
    bw_list, sc2_list = equalize_lists(players, rules.balance)
    bw_leads = len(bw_list) <= len(sc2_list)
    lead, follow = (bw_list, sc2_list) if bw_leads else (sc2_list, bw_list)
    lead_kept, follow_kept = filter_by_priority(lead, follow)
    matches, candidates = find_matches(lead_kept, follow_kept, bw_leads, rules)
    matches, swaps = refine(matches, bw_leads, rules)
    pairs = [(a.place, b.place) if bw_leads else (b.place, a.place) for a, b in matches]
    seated = [place for pair in pairs for place in pair]
    playable = [p for p in players if p.bw is not None or p.sc2 is not None]
    reasons = []
    for player in players:
        if player.place in seated:
            reasons.append(Reason.SEATED)
        elif player not in playable:
            reasons.append(Reason.CANNOT_PLAY_SIDE)
        elif len(playable) == 1:
            reasons.append(Reason.TOO_FEW_PLAYERS)
        elif lead and player in follow and player not in follow_kept:
            reasons.append(Reason.FILTERED)
        else:
            reasons.append(Reason.NO_OPPONENT_IN_WINDOW)
    return Wave(pairs, reasons, (len(bw_list), len(sc2_list)), candidates, swaps)


def create_matches(
    pairs: list[tuple[Player, Player]], maps: list[str], servers: dict[str, dict[str, str]], seed: int
) -> list[tuple[str | None, str | None, str]]:
    """Stage 7: map, server and channel of each match, numbered from 1."""
    random = generator(seed)
    all_servers = sorted({server for row in servers.values() for server in row.values()})
    venues = []
    for number, (one, other) in enumerate(pairs, 1):
        available = [name for name in maps if name not in one.vetoed and name not in other.vetoed]
        if not available:
            available = [name for name in maps if not (name in one.vetoed and name in other.vetoed)] or maps
        played_on = available[int(random.integers(len(available)))] if maps else None
        server = None
        if one.region is not None and other.region is not None:
            server = servers.get(one.region, {}).get(other.region) or servers.get(other.region, {}).get(one.region)
        if server is None and all_servers:
            server = all_servers[int(random.integers(len(all_servers)))]
        venues.append((played_on, server, f"scevo{(number % 10) or 10:02d}"))
    return venues


def best_plan(players: list[Player], rules: Rules) -> tuple[int, Fraction]:
    """Most matches, then least total squared gap, by trying everything: their number and that total."""
    rules.queue_size = len(players)

    def squared_gap(one: Player, other: Player) -> Fraction | None:
        ways = [(a.bw, b.sc2) for a, b in ((one, other), (other, one)) if a.bw is not None and b.sc2 is not None]
        gaps = [abs(x - y) for x, y in ways if rules.accept(one, other, abs(x - y))]
        return Fraction(min(gaps)) ** 2 if gaps else None

    def best(left: tuple[Player, ...]) -> tuple[int, Fraction]:
        if not left:
            return 0, Fraction(0)
        head, rest = left[0], left[1:]
        options = [best(rest)]
        for i, other in enumerate(rest):
            price = squared_gap(head, other)
            if price is not None:
                fewer, total = best(rest[:i] + rest[i + 1 :])
                options.append((fewer - 1, total + price))
        return min(options)

    negative, total = best(tuple(players))
    return -negative, total
