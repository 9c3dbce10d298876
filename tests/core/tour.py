"""One walk that passes through every kind of event, for whoever needs a journal with all of them in it."""

from .walk import Move

GRAND_TOUR: list[Move] = [
    ("crowd", 0, 0),
    ("crowd", 2, 0),
    ("crowd", 3, 20),
    ("keyed", 1, 30),
    ("wave", 0, 0),
    ("accept", 0, 0),
    ("accept_all", 0, 0),
    ("decline", 1, 0),
    ("seen", 3, 8),
    ("crowd", 4, 10),
    ("wave", 1, 1),
    ("accept_all", 3, 0),
    ("restart", 7, 0),
    ("open", 1, 1),
    ("join", 1, 35),
    ("give_up", 0, 0),
    ("end", 2, 0),
    ("result", 2, 1),
    ("season", 0, 0),
    ("late", 1, 0),
    ("late", 3, 0),
    ("crowd", 0, 5),
    ("leave", 0, 0),
    ("late", 5, 0),
    ("late", 7, 0),
    ("crowd", 2, 3),
    ("wave", 0, 0),
]
