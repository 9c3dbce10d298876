"""What the page's modules make of numbers, names and typed words, in the browser that runs them."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from evenmatch.matchers.registry import names

from ..service.harness import Server, queue
from .browser import Tab, needs_chromium, tab

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Tab]:
    """A page that has the modules at hand."""
    server = Server(tmp_path_factory.mktemp("words"), queue("duel")).start()
    try:
        with tab(browser) as opened:
            opened.open(server.url, "")
            opened.sees("live")
            yield opened
    finally:
        server.close()


def call(page: Tab, module: str, function: str, *arguments: Any) -> Any:
    """What a function of a module answers."""
    script = "async ([module, name, args]) => (await import(`/dashboard/${module}.js`))[name](...args)"
    return page.page.evaluate(script, [module, function, list(arguments)])


SPANS: Final = {
    0: "0 s",
    0.000004: "4 µs",
    0.0009994: "999 µs",
    0.0009996: "1 ms",
    0.00095: "950 µs",
    0.005: "5 ms",
    0.01: "10 ms",
    0.0512: "51.2 ms",
    0.1: "100 ms",
    0.5: "500 ms",
    0.51: "510 ms",
    0.95: "950 ms",
    0.9994: "999 ms",
    0.9995: "1 s",
    1: "1 s",
    4.24: "4.2 s",
    10: "10 s",
    99.94: "99.9 s",
    99.96: "1.7 min",
    119.9: "2.0 min",
    600: "10.0 min",
    7200: "2.0 h",
}


def test_time_spans_keep_their_zeros(page: Tab) -> None:
    assert {value: call(page, "format", "seconds", value) for value in SPANS} == SPANS


def test_axes_of_time_have_round_steps(page: Tab) -> None:
    assert call(page, "chart", "timeSteps", 200) == [0, 60, 120, 180, 240]
    assert call(page, "chart", "timeSteps", 750) == [0, 300, 600, 900]
    assert call(page, "chart", "timeSteps", 0.3) == [0, 0.1, 0.2, 0.3]
    assert call(page, "chart", "timeSteps", 20, 6) == [0, 5, 10, 15, 20]


def test_all_marks_of_an_axis_of_time_are_in_one_unit(page: Tab) -> None:
    script = """async (marks) => { const written = (await import("/dashboard/format.js")).axisSeconds(marks);
      return marks.map(written); }"""
    axes = {
        (0, 0.1, 0.3): ["0 ms", "100 ms", "300 ms"],
        (0, 30, 60, 90): ["0 s", "30 s", "60 s", "90 s"],
        (0, 30, 60, 90, 120): ["0 min", "0.5 min", "1 min", "1.5 min", "2 min"],
        (0, 3600, 7200): ["0 h", "1 h", "2 h"],
    }
    assert {marks: page.page.evaluate(script, list(marks)) for marks in axes} == axes


DRAWN: Final = """async ([shown, wide, top]) => {
  const { drawAxes, drawBeyond, EDGE } = await import("/dashboard/picture_axes.js");
  const lines = [], words = [];
  const pen = document.createElement("canvas").getContext("2d");
  const spied = new Proxy(pen, {
    get: (_, name) => (name === "fillText" ? (text, x, y) => words.push([text, x, y, pen.measureText(text).width])
      : name === "moveTo" ? (x, y) => lines.push([x, y])
      : typeof pen[name] === "function" ? pen[name].bind(pen) : pen[name]),
    set: (_, name, value) => { pen[name] = value; return true; } });
  const floor = 360 - EDGE.bottom;
  const plot = { left: 1000, right: 2000, top, wide, tall: 360, floor,
    x: (value) => EDGE.left + (wide - EDGE.left - EDGE.right) * (value - 1000) / 1000,
    y: (value) => floor - (floor - EDGE.top) * value / top };
  drawAxes(spied, plot, shown);
  const axes = [lines.length, words.length];
  drawBeyond(spied, plot, shown.scale);
  return [axes, words];
}"""


def test_every_gridline_has_a_label_and_a_notice_has_room_on_a_phone(page: Tab) -> None:
    scale = {"below": 0, "above": 0, "longer": 12, "oldest_s": 6000.0}
    shown: dict[str, Any] = {"ping_ms": [], "edges": [], "bucket": None, "by_count": False, "scale": scale}
    for wide in (330, 1200):
        for top in (5.0, 31.0, 120.0, 500.0):
            (lines, labels), words = page.page.evaluate(DRAWN, [shown, wide, top])
            assert labels == lines + 2, "a label a line, and what the two axes are"
            notice, x, _, width = words[-1]
            assert notice.startswith("▲ 12 ")
            assert x - width / 2 >= 62
            assert x + width / 2 <= wide


def test_numbers_of_a_trace_have_units_and_what_is_nothing_is_no_reason(page: Tab) -> None:
    told = {
        ("mean", 1253.7): "1,253.7 pts",
        ("gap", 0.0004): "0 pts",
        ("gap", 0.22): "0.2 pts",
        ("weight", -367.3): "-367.30",
        ("cost", 367.3): "367.30",
        ("share", 0.0001): "0",
    }
    assert {one: call(page, "words", "measured", *one) for one in told} == told
    assert (
        call(page, "trace", "plain", {"dawn": 1253.7, "dusk": 1636.3}, "mean") == "dawn 1,253.7 pts, dusk 1,636.3 pts"
    )
    assert call(page, "trace", "plain", "LOW", "category") == "low"
    script = """async (details) => { const drawn = document.createElement("div");
      drawn.append(...[(await import("/dashboard/trace.js")).said(details)].flat(Infinity));
      return drawn.textContent; }"""
    terms = {"spread": 0.16, "imbalance": 0.0001, "distribution": 0}
    assert page.page.evaluate(script, {"terms": terms}) == "by size, what is not ideal: ratings differ (0.160)"


def test_what_the_cost_of_every_matcher_counts_is_said(page: Tab) -> None:
    assert [name for name in names() if not call(page, "words", "costWords", name)] == []
    assert call(page, "words", "costWords", "ladder").startswith("Cost counts squared points")


def test_marks_that_have_bands_colours_are_not_told_in_the_colour_of_one(page: Tab) -> None:
    script = """async ([picture]) => [...(await import("/dashboard/picture_legend.js"))
      .pictureLegend(picture, 2, "made").querySelectorAll("span")]
      .map((one) => [one.textContent, one.querySelector("i").getAttribute("style")])"""
    picture = COLUMNS | {"matcher": "even", "overlap": [], "bands_are": "turn"}
    for by_count, words in ((True, "a column: tickets within 25 pts"), (False, "1 ticket")):
        told = dict(page.page.evaluate(script, [picture | {"by_count": by_count}]))
        assert told["waits"] == "background: var(--series-1);"
        assert "series" not in told[words]


def test_names_turn_nothing_round_also_in_plain_text(page: Tab) -> None:
    names = {
        "ann": "ann",
        "\u202ex": "\u2068\u202ex\u2069",
        "a\u2069\u202eb": "\u2068a\u202eb\u2069",
        "\u2067x": "\u2068\u2067x\u2069\u2069",
    }
    assert {name: call(page, "format", "isolated", name) for name in names} == names


FOUND: Final = {
    "t-1": ["ticket", "t-000000000001"],
    "T-12": ["ticket", "t-000000000012"],
    "M-000000000003": ["match", "m-000000000003"],
    "p-4": ["match", "m-000000000004"],
    "duel": ["queue", "duel"],
    "DUEL": ["queue", "duel"],
    "dueller": ["player", "dueller"],
    "player:t-000000000001": ["player", "t-000000000001"],
    "player: duel": ["player", "duel"],
    "queue:x": ["queue", "x"],
    "ticket:7": ["ticket", "t-000000000007"],
    "match:m-7": ["match", "m-000000000007"],
    "  ": None,
}


def test_the_search_knows_kinds_queues_and_capitals(page: Tab) -> None:
    assert {typed: call(page, "find", "found", typed, ["duel", "ranked"]) for typed in FOUND} == FOUND


WELL: Final = {
    "queue": "duel",
    "format": "2x1",
    "mode": "open",
    "waiting": 4,
    "players_waiting": 4,
    "oldest_s": 12.0,
    "matches": 9,
    "wait_p90_s": 11.0,
    "ready_kept": 0.9,
    "over_s": 300.0,
    "abandoned": 0,
    "every_s": 2.0,
}
ALARMS: Final[tuple[tuple[dict[str, Any], list[tuple[str, str]]], ...]] = (
    ({}, []),
    ({"mode": "paused"}, [("bad", "paused: no wave runs")]),
    ({"mode": "draining"}, [("warn", "draining: nobody may join")]),
    ({"oldest_s": 66.0}, [("warn", "somebody waits 6 times as long as 9 in 10 do")]),
    ({"oldest_s": 20.0, "wait_p90_s": 2.0}, []),
    ({"matches": 0, "oldest_s": 90.0, "over_s": 8.0, "wait_p90_s": None}, []),  # it has just started
    ({"matches": 0, "oldest_s": 90.0, "every_s": 40.0, "wait_p90_s": None}, []),  # it had two waves, or three
    ({"matches": 0, "oldest_s": 900.0, "every_s": 600.0, "wait_p90_s": None}, []),
    (
        {"matches": 0, "oldest_s": 1900.0, "every_s": 600.0},
        [("warn", "somebody waits for 31.7 min, 3 waves")],
    ),
    ({"matches": 0, "oldest_s": 90.0}, [("bad", "no match in 5 min, though 4 players wait")]),
    (
        {"matches": 0, "oldest_s": 90.0, "format": "2x5"},
        [("warn", "no match in 5 min: 4 of the 10 players that a match takes")],
    ),
    (
        {"abandoned": 3, "ready_kept": 0.2},
        [
            ("bad", "3 waves abandoned in 5 min: the matcher failed or was too late"),
            ("warn", "most ready checks fail"),
        ],
    ),
)


def test_what_is_amiss_in_a_queue_is_said_and_such_queues_come_first(page: Tab) -> None:
    for change, expected in ALARMS:
        found = call(page, "alarm", "alarms", WELL | change)
        assert [(one["level"], one["words"]) for one in found] == expected
    cards = [WELL, WELL | {"queue": "b", "mode": "draining"}, WELL | {"queue": "c", "abandoned": 1}]
    assert [one["queue"] for one in call(page, "alarm", "worstFirst", cards)] == ["c", "b", "duel"]


def test_ids_are_taken_as_they_are_shown(page: Tab) -> None:
    ids = {
        ("t", "t-20078"): "t-000000020078",
        ("t", "T-000000020078"): "t-000000020078",
        ("m", "p-1"): "m-000000000001",
        ("t", "ann"): "ann",
    }
    assert {one: call(page, "find", "wholeId", *one) for one in ids} == ids


def test_axes_have_no_zero_below_zero(page: Tab) -> None:
    script = """async () => (await import("/dashboard/picture_axes.js")).ticks(-60, 2100, 3)
      .map((one) => Object.is(one, -0))"""
    assert page.page.evaluate(script) == [False, False, False]


def test_one_of_something_is_no_more(page: Tab) -> None:
    assert [call(page, "format", "points", value) for value in (1, 1.04, 0, 2, 1500.4)] == [
        "1 pt",
        "1.0 pts",
        "0 pts",
        "2 pts",
        "1,500 pts",
    ]


def rows(page: Tab, module: str, function: str, *arguments: Any) -> list[list[str]]:
    """The cells of a table that a function of a module makes, without its head."""
    script = """async ([module, name, args]) => {
      const drawn = document.createElement("div");
      drawn.append(...[(await import(`/dashboard/${module}.js`))[name](...args)].flat(Infinity));
      return [...drawn.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    }"""
    found: list[list[str]] = page.page.evaluate(script, [module, function, list(arguments)])
    return found


def test_the_terms_of_a_cost_add_up_however_small_it_is(page: Tab) -> None:
    small = rows(page, "cost", "costTable", {"imbalance": 0.045, "premade": 0.0025, "spread": 0.0025}, 0.05)
    assert [row[1:3] for row in small] == [["0.0450", "90 %"], ["0.0025", "5 %"], ["0.0025", "5 %"], ["0.0500", ""]]
    large = rows(page, "cost", "costTable", {"imbalance": 2.0, "a": 0.004, "b": 0.004, "c": 0}, 2.008)
    assert [row[:2] for row in large] == [["one team likelier", "2.00"], ["others", "0.01"], ["the cost", "2.01"]]


COLUMNS: Final[dict[str, Any]] = {
    "by_count": True,
    "binned": True,
    "waiting": 760,
    "rating": [1500, 1500, 1525],
    "count": [385, 312, 63],
    "waited_s": [10, 20, 10],
    "ping_ms": [],
    "band": [0, 1, 0],
    "bands": ["waits", "goes first"],
    "bin": 25,
    "scale": {"low": 1400, "high": 1600},
    "words": "",
    "beyond": "",
}


def test_a_column_is_counted_and_told_as_a_whole(page: Tab) -> None:
    assert call(page, "picture_legend", "pictureWords", COLUMNS).startswith("760 tickets in 2 columns. ")
    told = "697 tickets from 1,488 to 1,513 pts: 385 waits, 312 goes first, waited about 14.5 s"
    assert call(page, "picture_marks", "described", COLUMNS, 1) == told
    assert call(page, "picture_marks", "described", COLUMNS, 2).startswith("63 tickets from 1,513 to 1,538 pts, waits")


def test_stripes_are_spoken_of_only_where_they_are_drawn(page: Tab) -> None:
    picture = COLUMNS | {"by_count": False, "words": "Stripes are buckets. A bar is a range."}
    assert "Stripes are buckets." in call(page, "picture_legend", "pictureWords", picture)
    assert "Stripes" not in call(page, "picture_legend", "pictureWords", picture, False)


def test_features_are_told_as_people_write_them(page: Tab) -> None:
    features = [
        {"name": "rating", "kind": "numeric", "weight": 1, "scale": 400},
        {"name": "map", "kind": "categorical", "weight": 2, "scale": 1},
    ]
    assert call(page, "wave", "raw", features) == "rating / 400, map × 2"


def test_what_nobody_sees_stands_as_its_code_in_the_audit_and_a_name_of_spaces_is_marked(page: Tab) -> None:
    script = """async ([name, text]) => (await import("/dashboard/dom.js"))[name](text).textContent"""
    assert page.page.evaluate(script, ["exact", "too \u202eslow; \u2067x"]) == "too U+202Eslow; U+2067x"
    assert page.page.evaluate(script, ["stranger", "  "]) == "  blank: U+0020"
    assert page.page.evaluate(script, ["stranger", "a b"]) == "a b"


def test_ratings_without_end_are_anybody(page: Tab) -> None:
    assert call(page, "format", "span", 1430, 1570) == "1,430 to 1,570 pts"
    assert call(page, "format", "span", -1e9, 1e9) == "anybody"
    assert call(page, "format", "span", None, 1570) == "up to 1,570 pts"
    assert call(page, "format", "span", -53, None) == "from -53 pts"


def test_steps_that_changed_nothing_are_folded_and_a_long_table_never_is(page: Tab) -> None:
    search = [
        {
            "step": "drafts",
            "plans": 2,
            "words": "two drafts",
            "tried": [{"draft": "from below", "seats": 6, "cost": 1.5}],
        },
        {"step": "improve", "moves": 0, "words": "nothing to gain"},
        {"step": "pack", "matches": 0, "words": "no match more"},
        {"step": "turns", "moves": 2, "words": "2 times"},
    ]
    assert call(page, "trace", "idle", search) == [False, True, True, False]
    long = [{"iteration": n, "added": f"t-{n:012}"} for n in range(40)]
    assert call(page, "trace", "idle", long) == [False] * 40
    script = """async (steps) => {
      const drawn = document.createElement("div");
      drawn.append(...(await import("/dashboard/trace.js")).traceTables(steps).flat(Infinity));
      document.querySelector("main").append(drawn);
      const found = [drawn.innerText, drawn.querySelectorAll("details").length];
      drawn.remove();
      return found;
    }"""
    seen, folds = page.page.evaluate(script, search)
    assert folds == 2
    assert "2 steps that changed nothing" in seen
    assert "Two drafts" in seen
    assert "nothing to gain" not in seen, "it is behind the fold"
    assert "from below" not in seen, "so is what each draft came to"
    assert "2 times" in seen
    seen, folds = page.page.evaluate(script, long)
    assert (folds, "iteration" in seen) == (0, True)


def test_only_ranges_that_show_more_are_offered(page: Tab) -> None:
    known = {0.5: [5], 5: [5], 6: [5, 30], 30.5: [5, 30, 120], 121: [5, 30, 120, 240]}
    assert {minutes: call(page, "queue", "worthShowing", [5, 30, 120, 240], minutes) for minutes in known} == known


def test_arrow_keys_walk_by_rating_and_by_wait_and_stay_where_they_were(page: Tab) -> None:
    crowd = [
        {"i": at, "across": across, "up": up, "ticket": f"t-{at}"}
        for at, (across, up) in enumerate(((1500, 9), (1400, 1), (1600, 5)))
    ]

    def step(at: int | None, by: str, way: int) -> int:
        return int(call(page, "picture_keys", "neighbour", crowd, None if at is None else crowd[at], by, way)["i"])

    assert [step(None, "across", 1), step(1, "across", 1), step(0, "across", 1), step(2, "across", 1)] == [1, 0, 2, 2]
    assert [step(1, "up", 1), step(2, "up", 1), step(0, "up", -1)] == [2, 0, 2]
    assert call(page, "picture_keys", "again", crowd, crowd[2]) == crowd[2]
    assert call(page, "picture_keys", "again", crowd[:2], crowd[2]) is None
    assert call(page, "picture_keys", "again", crowd[:2], crowd[2] | {"ticket": None}) == crowd[0]


def test_a_limit_that_is_none_is_told_so_within_lists(page: Tab) -> None:
    assert call(page, "wave", "raw", [[500, 1.2], [None, 0.8]]) == "(500, 1.2), (no limit, 0.8)"
    assert call(page, "wave", "raw", [["inf", 0.8]]) == "(no limit, 0.8)"
