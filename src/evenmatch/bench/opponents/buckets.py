"""The check of the bucket matcher in plain Python: buckets in a dictionary, ranges walked outwards step by step."""

__all__ = ["check"]


def check(bucket: list[int], reach: list[int]) -> list[tuple[int, int]]:
    """(seeker, partner) by places in canonical order, everybody within the other's range."""
    members: dict[int, list[int]] = {}
    for place, home in enumerate(bucket):
        members.setdefault(home, []).append(place)
    begin = dict.fromkeys(members, 0)
    free = [True] * len(bucket)

    def first(home: int, needed: int, seeker: int) -> int | None:
        """The earliest free place of a bucket whose range is as needed."""
        there = members.get(home)
        if there is None:
            return None
        at = begin[home]
        while at < len(there) and not free[there[at]]:
            at += 1
        begin[home] = at
        for place in range(at, len(there)):
            other = there[place]
            if free[other] and other != seeker:
                # Places are in order of falling wait: after one whose range is too small nobody's is large enough.
                return other if reach[other] >= needed else None
        return None

    pairs = []
    for seeker, home in enumerate(bucket):
        if not free[seeker]:
            continue
        for distance in range(reach[seeker] + 1):
            sides = (home - distance, home + distance) if distance else (home,)
            found = [near for side in sides if (near := first(side, distance, seeker)) is not None]
            if found:
                free[seeker] = free[min(found)] = False
                pairs.append((seeker, min(found)))
                break
    return pairs
