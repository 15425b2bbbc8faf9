from __future__ import annotations

import html
from xml.etree import ElementTree

import pytest

from vedette.errors import InputError
from vedette.filters.subscription_records import PatternRecord
from vedette.language.parser import parse
from vedette.patterns.machine_pictures import MOST_DRAWN, machine_picture, merged_picture
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.state_diagrams import Picture

PATTERNS = [
    "[temp > 30]{5}",
    "a:[x = 1] ; ((b:[x = 2] , c:[x = 3]) and ([x = 4] , [x = 5])) ; not [x = 9] ; ([x = 7] or [x = 8])"
    " @ (t(c) - t(a) < 5 min) by ip within 1 h",
    "[name = 'it''s \"quoted\" <b>&' and ip = $x] ; [ip = $x]",
]


def _machine(text: str) -> Picture:
    return machine_picture(text, probability=lambda depth: depth / 10)


def _texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("text", PATTERNS)
def test_every_picture_can_be_drawn(text: str) -> None:
    picture = _machine(text)
    svg = ElementTree.fromstring(picture.to_svg())
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}rect"))) == len(picture.nodes)
    mermaid = picture.to_mermaid().splitlines()
    assert mermaid[3] == "flowchart LR"
    assert len(mermaid) == 4 + len(picture.nodes) + len(picture.edges)
    assert all(line.count('"') == 2 for line in mermaid[4:])
    assert picture._repr_html_() == picture.to_svg()


def test_the_machine_of_a_run() -> None:
    picture = _machine("[temp > 30]{5}")
    assert [node.label for node in picture.nodes] == ["start", "after 1", "after 2", "after 3", "after 4", "match"]
    assert [(edge.source, edge.target, edge.next) for edge in picture.edges] == [
        (0, 1, False),
        (1, 2, True),
        (2, 3, True),
        (3, 4, True),
        (4, 5, True),
    ]
    assert '    s2["after 2<br>20#37;"]' in picture.to_mermaid()
    assert "20%" in _texts(picture.to_svg())
    assert picture.nodes[-1].probability is None


def test_a_match_stands_one_step_behind_the_last_state() -> None:
    picture = _machine("[temp > 30]{5}")
    assert [node.depth for node in picture.nodes] == [0, 1, 2, 3, 4, 5]
    assert [node.depth for node in _machine("[temp > 30]").nodes] == [0, 1]
    assert _machine("[temp > 30]").title == "1 step"


def test_long_labels_take_two_lines_and_the_whole_is_there_to_be_pointed_at() -> None:
    steps = [f"f{n}:[status = 'denied' and ip = $x and protocol = 'ssh' and port = 22]" for n in range(1, 5)]
    picture = _machine(" ; ".join(steps))
    svg = picture.to_svg()
    width = int(ElementTree.fromstring(svg).attrib["width"])
    assert width < 1300
    assert all(len(line) <= 22 for edge in picture.edges for line in edge.lines)
    assert picture.edges[0].lines == ("f1:[status = 'denied'", "and ip = $x and …")
    assert svg.count(f"<title>{html.escape(steps[0])}</title>") == 2
    short = _machine("[x = 1] ; [x = 2] ; [x = 3] ; [x = 4]").to_svg()
    assert int(ElementTree.fromstring(short).attrib["width"]) < width


def test_the_machine_of_an_and_shows_what_has_happened() -> None:
    picture = _machine("(a:[x = 1] and b:[x = 2]) within 1 min")
    labels = [node.label for node in picture.nodes]
    assert labels == ["start", "after a", "after b", "match"]
    assert {(labels[edge.source], labels[edge.target]) for edge in picture.edges} == {
        ("start", "after a"),
        ("start", "after b"),
        ("after a", "match"),
        ("after b", "match"),
    }
    assert picture.title == "2 steps within 1 min"


def test_conditions_absent_steps_and_partitions_are_told() -> None:
    picture = _machine(PATTERNS[1])
    assert picture.title == "7 steps by ip within 1 h @ (t(c) - t(a) < 5 min)"
    assert any(edge.label == "6: [x = 7] unless [x = 9] before" for edge in picture.edges)


def test_a_machine_from_what_was_read() -> None:
    text = "[x = 1] ; [x = 2]"
    assert machine_picture(parse(text), text) == machine_picture(text)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no machine"):
        machine_picture("x = 1")


def test_a_large_machine_is_cut() -> None:
    parts = " and ".join(f"[x = {number}]" for number in range(9))
    picture = _machine(parts)
    assert len(picture.nodes) == MOST_DRAWN + 1
    assert picture.nodes[-1].kind == "more"
    ElementTree.fromstring(picture.to_svg())


def test_equal_beginnings_are_one_path() -> None:
    texts = ["[x = 1] ; [x = 2] ; [x = 3]", "[x = 1] ; [x = 2] ; [x = 4]", "[x = 1] , [x = 5]"]
    picture = merged_picture(PatternRecord(f"p{number}", text) for number, text in enumerate(texts, 1))
    assert picture.title == "3 patterns, 2 states"
    labels = [node.label for node in picture.nodes]
    assert sorted(labels) == sorted(["start", "p1 and 2 more", "p1, p2", "p1", "p2", "p3"])
    kinds = {node.label: node.kind for node in picture.nodes}
    assert kinds["p3"] == "match"
    told = {(labels[edge.source], edge.label, labels[edge.target], edge.next) for edge in picture.edges}
    assert told == {
        ("start", "[x = 1]", "p1 and 2 more", False),
        ("p1 and 2 more", "[x = 2]", "p1, p2", False),
        ("p1 and 2 more", "[x = 5]", "p3", True),
        ("p1, p2", "[x = 3]", "p1", False),
        ("p1, p2", "[x = 4]", "p2", False),
    }
    ElementTree.fromstring(picture.to_svg())


def test_states_say_how_many_partial_matches_stand_there() -> None:
    pattern = "a:[x = 1] ; b:[x = 2] ; c:[x = 3] by u"
    record = PatternRecord("p", pattern)
    matcher = PatternMatcher([record, PatternRecord("other", "a:[x = 1] ; d:[x = 9] by u")])
    matcher.process([{"x": 1, "u": "ann"}, {"x": 1, "u": "bob"}, {"x": 2, "u": "bob"}])
    (number,) = (number for number, one in matcher.patterns.items() if one.id == "p")
    picture = machine_picture(pattern, standing=matcher.standing(number))
    # bob's first event may still be taken further by another b, so it stands in both places
    assert {node.label: node.standing for node in picture.nodes} == {
        "start": None,
        "after a": 2,
        "after b": 1,
        "match": None,
    }
    assert [node.lines for node in picture.nodes if node.standing] == [("after a", "2 here"), ("after b", "1 here")]


def test_partial_matches_whose_window_is_over_stand_nowhere() -> None:
    pattern = "[x = 1] ; [x = 2] within 1 min"
    matcher = PatternMatcher([PatternRecord("p", pattern)])
    matcher.process([{"x": 1, "time": 0}])
    assert sum(matcher.standing(0).values()) == 1
    matcher.process([{"x": 5, "time": 61}])
    assert sum(matcher.standing(0).values()) == 0
