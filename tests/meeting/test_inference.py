"""The schema that constraints suggest: one type for both sides, whoever hears which text, and in which order."""

from __future__ import annotations

import json
import random

import pytest

from vedette.errors import FilterError
from vedette.meeting import inference as module
from vedette.meeting.inference import AttributeUse, Inference, attributes_of, inferred_schema


def types(*texts: str) -> dict[str, str]:
    return {path: str(type_) for path, type_ in inferred_schema(texts).items()}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["x = 1"], "int"),
        (["x = -7 or 3 < x"], "int"),
        (["x between 1 and 5", "x in (1, 2)"], "int"),
        (["x in [1..5)"], "int"),
        (["x = 1", "x = 2.0"], "float"),
        (["x = 1e1"], "float"),
        (["x = 1."], "float"),
        (["x < float 'inf'", "x > 3"], "float"),
        (["x = 9223372036854775807"], "int"),
        (["x = 9223372036854775808"], "float"),
        (["x = 'abc'"], "string"),
        (["x like 'abc%'", "x = 'abc'"], "string"),
        (["x"], "bool"),
        (["not x", "x = false"], "bool"),
        (["x > timestamp '2026-01-01'"], "timestamp"),
        (["x > date '2026-01-01'"], "timestamp"),
        (["x < '2026-02-01'", "x > timestamp '2026-01-01'"], "timestamp"),
        (["x = '10.0.0.1'", "x in cidr '10.0.0.0/8'"], "ip"),
        (["x within 5 km of point(1, 2)"], "point"),
        (["x within region 'POLYGON((0 0, 1 0, 1 1, 0 0))'", "x within 1 m of point(0, 0)"], "point"),
        (["any(x) = 'a'"], "list of string"),
        (["x contains 'a'", "all(x) in ('a', 'b')"], "list of string"),
        (["x contains 'a'", "x = 'b'"], "string"),
        (["any(x) = 3", "x is not null"], "list of int"),
        (["x is null"], "string"),
        (["x is null", "x = 3"], "int"),
        (["x = null or x = 2.5"], "float"),
    ],
)
def test_one_type_for_all_texts(texts: list[str], expected: str) -> None:
    assert types(*texts) == {"x": expected}
    assert types(*reversed(texts)) == {"x": expected}


def test_the_schema_is_closed_and_in_the_order_of_names() -> None:
    schema = inferred_schema(["b = 1 and a = 'x'", "order.total > 1.5"])
    assert schema.closed
    assert list(schema) == ["a", "b", "order.total"]


def test_attributes_that_nothing_is_known_of_are_there_all_the_same() -> None:
    """What is wrong with these texts is said by who reads them, and not that an attribute is unknown."""
    assert types("a < b") == {"a": "string", "b": "string"}
    assert types("f(?x, c + d) and ?x > 2") == {"c": "string", "d": "string"}
    assert types("a < b", "a = 3") == {"a": "int", "b": "string"}


@pytest.mark.parametrize(
    ("early", "late", "says"),
    [
        ("x = 1", "x = 'a'", "x is used as a text here, and as a whole number in publication 'p': x = 1"),
        ("x = 'a'", "y = 2 and x < 1.5", "x is used as a number here, and as a text in publication 'p': x = 'a'"),
        ("any(x) = 1", "x = 1", "as a list, each element a whole number in"),
        ("any(x) = 1", "x contains 'a'", "x is used as a text, or a list of texts here"),
        ("x > timestamp '2026-01-01'", "x like '2026%'", "and as a time in"),
        ("x > timestamp '2026-01-01'", "x in cidr '10.0.0.0/8'", "x is used as an ip address here"),
        ("x", "x within 5 km of point(1, 2)", "and as a truth value in"),
    ],
)
def test_texts_that_disagree_are_both_named(early: str, late: str, says: str) -> None:
    with pytest.raises(FilterError) as caught:
        inferred_schema([early, late], ["publication 'p'", "subscription 's'"])
    error = caught.value
    assert says in error.message
    assert (error.text, error.where) == (late, "subscription 's'")
    assert error.text[error.start : error.end] == "x"
    assert error.hint is not None
    with pytest.raises(FilterError, match=r"in another text"):
        inferred_schema([early, late])


def test_a_text_that_disagrees_with_itself() -> None:
    with pytest.raises(FilterError, match=r"column 10: x is used as a whole number and here as a text"):
        inferred_schema(["x = 1 or x = 'a'"])


def test_a_text_that_cannot_be_read() -> None:
    with pytest.raises(FilterError, match=r"^publication 'p':\nline 1, column 4: expected a value"):
        inferred_schema(["x <"], ["publication 'p'"])
    with pytest.raises(FilterError, match=r"a pattern over several events"):
        inferred_schema(["[x = 1] ; [x = 2]"])
    with pytest.raises(FilterError, match=r"not int"):
        inferred_schema([5])  # type: ignore[list-item]


def test_a_dispute_is_told_once_and_the_rest_goes_on() -> None:
    heard = Inference()
    heard.add("x = 1")
    with pytest.raises(FilterError):
        heard.add("x = 'a' and y = 2.5")
    heard.add("x = 'b' and z = 3")
    assert heard.disputed == {"x"}
    assert {path: str(type_) for path, type_ in heard.schema().items()} == {"x": "int", "y": "float", "z": "int"}


def test_attributes_of_a_text() -> None:
    assert attributes_of("a = 1 and (b is null or not any(c) = 2)") == {"a", "b", "c"}


def _made_up(number: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    forms = (
        lambda: f"x{draw.randrange(4)} = {draw.randrange(100)}",
        lambda: f"x{draw.randrange(4)} < {draw.random() * 100:.2f}",
        lambda: f"x{draw.randrange(4)} in [{draw.randrange(9)}..{draw.randrange(9)}.5]",
        lambda: f"n{draw.randrange(3)} = 'it''s {draw.randrange(99)} - 0.5'",
        lambda: f"n{draw.randrange(3)} > timestamp '2026-01-0{draw.randrange(1, 9)}'",
        lambda: f'"odd ""name{draw.randrange(3)}" >= 1e{draw.randrange(9)}',
        lambda: f"k{draw.randrange(2)}.v1 is null -- {draw.randrange(9)}",
        lambda: f"-{draw.randrange(9)} <= y{draw.randrange(2)}",
    )
    return ["\nand ".join(draw.choice(forms)() for _ in range(draw.randrange(1, 4))) for _ in range(number)]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_remembered_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = _made_up(400, seed)
    quick = inferred_schema(texts)
    monkeypatch.setattr(module, "_shape", lambda _: None)
    assert inferred_schema(texts) == quick
    monkeypatch.undo()
    monkeypatch.setattr(module, "_MOST", 3)
    assert inferred_schema(texts) == quick


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_merged_in_any_order(seed: int) -> None:
    texts = _made_up(60, seed)
    whole = inferred_schema(texts)
    draw = random.Random(seed)
    parts = [Inference() for _ in range(4)]
    for text in texts:
        draw.choice(parts).add(text)
    draw.shuffle(parts)
    merged = Inference()
    for part in parts[:2]:
        merged.merge(part)
    travelled = [json.loads(json.dumps(each)) for part in (merged, *parts[2:]) for each in part.said]
    assert Inference([AttributeUse(*each) for each in travelled]).schema() == whole


def test_parts_that_disagree_name_both_texts() -> None:
    one, other = Inference(), Inference()
    one.add("price = 1", "publication 'p'")
    other.add("price = 'cheap'", "subscription 's'")
    with pytest.raises(FilterError, match=r"publication 'p': price = 1") as caught:
        one.merge(other)
    assert caught.value.text == "price = 'cheap'"


def test_shapes_keep_what_tells_the_type() -> None:
    same = ["x1 = 5 and n = 'a'", "x1 = 123456 and n = 'it''s'"]
    assert len({module._shape(text) for text in same}) == 1
    different = [
        "x1 = 5",
        "x2 = 5",
        "x1 = 5.0",
        "x1 = '5'",
        "x1 = timestamp '5'",
        "x1 = 12345678901234567890",
    ]
    assert len({module._shape(text) for text in different}) == len(different)
    assert module._shape('"x 1" = 5') is None
    assert module._shape("x = 1 -- 'a") is None
    assert module._shape("x = '" + "a" * 5000 + "'") is None
