"""Words of texts: real sentences, and the ratio of RapidFuzz written out slowly."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.operators.shipped.asking import Asker
from vedette.errors import InputError
from vedette.operators.shipped import text
from vedette.operators.shipped.text import words

TITLES = [
    "Used bicycle, 26 inch, hardly ridden",
    "USED-BICYCLE!!!",
    "Bicycle (used) with new tyres",
    "Reused bicycle parts",
    "Café Crème: a review",
    "Straße nach Süden",
    "Öffentliche Ausschreibung: Fahrräder für die Polizei",
    "A ﬁne e-bike for sale",
    "İstanbul'da kiralık daire",
    "",
    "…",
]
# The preamble of the Universal Declaration of Human Rights, and parts of it.
SENTENCES = [
    "Whereas recognition of the inherent dignity and of the equal and inalienable rights of all members of the human "
    "family is the foundation of freedom, justice and peace in the world",
    "Whereas it is essential to promote the development of friendly relations between nations",
    "All human beings are born free and equal in dignity and rights.",
    "They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
    "No one shall be held in slavery or servitude",
    "Everyone has the right to life, liberty and security of person.",
]
asker = Asker(text.operators({}), {"title": "string"})


def which(call: str) -> list[int]:
    answers = asker.ask(call, [{"title": title} for title in TITLES])
    return [row for row, holds in enumerate(answers) if holds]


def test_a_phrase_stands_in_a_text_as_whole_words() -> None:
    assert which("mentions(title, 'used bicycle')") == [0, 1]
    assert which("mentions(title, 'Bicycle')") == [0, 1, 2, 3]
    assert which("mentions(title, 'use')") == []
    assert which("mentions(title, 'used, bicycle...')") == [0, 1]


def test_one_of_several_phrases_is_enough() -> None:
    assert which("mentions(title, 'e bike', 'fahrrader', 'bicycle parts')") == [3, 6, 7]


def test_case_accents_and_ligatures_do_not_matter() -> None:
    assert which("mentions(title, 'CAFE CREME')") == [4]
    assert which("mentions(title, 'strasse', 'SÜDEN')") == [5]
    assert which("mentions(title, 'fine')") == [7]
    assert which("mentions(title, 'istanbul')") == [8]


def test_what_has_no_text_is_unknown() -> None:
    assert asker.ask("mentions(title, 'x')", [{"title": None}, {}, {"title": "x"}]) == [None, None, True]
    assert asker.ask("mentions(title, 'x')", [{}, {}]) == [None, None]
    assert asker.ask("similar(title, 'x')", [{"title": None}, {"title": "X"}, {"title": ""}]) == [None, [1.0], [0.0]]
    assert asker.failures == {}


def test_dictionaries_and_constants_are_texts_too() -> None:
    titles = pa.array([*TITLES, None, TITLES[0]]).dictionary_encode()
    plain = asker.ask("mentions(title, 'bicycle')", pa.table({"title": titles.dictionary_decode()}))
    assert asker.ask("mentions(title, 'bicycle')", pa.table({"title": titles})) == plain
    assert asker.ask("mentions('a used bicycle', 'bicycle')", [{}, {}]) == [True, True]


def test_what_is_no_text_is_unknown_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    numbers = Asker(text.operators({}), {"price": "int"})
    assert numbers.ask("mentions(price, 'x')", [{"price": 5}]) == [None]
    assert "a text is needed, and the attribute is of type int64" in caplog.text


def _common(one: str, other: str) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for letter in one:
        before = 0
        for at, against in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if letter == against else max(row[at], row[at - 1])
    return row[-1]


def _ratio(one: str, other: str) -> float:
    return 2 * _common(one, other) / (len(one) + len(other)) if one or other else 0.0


def _token_set_ratio(one: str, other: str) -> float:
    """The best ratio of: the common words, those with the rest of the one, those with the rest of the other."""
    left, right = set(one.split()), set(other.split())
    if not left or not right:
        return 0.0
    common = " ".join(sorted(left & right))
    both = [" ".join(filter(None, (common, " ".join(sorted(rest))))) for rest in (left - right, right - left)]
    if common and (left <= right or right <= left):
        return 1.0
    candidates = [_ratio(*both)]
    if common:
        candidates += [_ratio(common, each) for each in both]
    return max(candidates)


@pytest.mark.parametrize(
    "like",
    ["human rights", "free and equal in dignity", "the right to freedom and liberty", "slavry", "zebra", *SENTENCES],
)
def test_scores_are_those_of_the_ratio_written_out(like: str) -> None:
    quoted = like.replace("'", "''")
    found = asker.ask(f"similar(title, '{quoted}')", [{"title": each} for each in SENTENCES])
    expected = [_token_set_ratio(words(each), words(like)) for each in SENTENCES]
    assert [score for (score,) in found] == pytest.approx(expected, abs=1e-9)


def test_other_words_and_their_order_do_not_count() -> None:
    found = asker.ask("similar(title, 'used bicycle')", [{"title": title} for title in TITLES[:5]])
    assert found[:3] == [[1.0]] * 3
    assert 0.6 < found[3][0] < 1
    assert found[4][0] < 0.5


def test_what_cannot_be_sought_is_refused_when_it_is_read() -> None:
    for call, reason in {
        "mentions(title, '…')": "'…' has no word that mentions could look for",
        "mentions(title, 'a', 5)": "what mentions looks for is a constant text",
        "mentions(title, other)": "what mentions looks for is a constant text",
        "similar(title, '')": "'' has no word that similar could look for",
    }.items():
        with pytest.raises(ValueError, match=reason):
            asker.check(call)
    asker.check("mentions(title, 'a')")
    with pytest.raises(InputError, match="takes 2 or more"):
        text.mentions.inputs_of(1)


def test_there_are_no_settings() -> None:
    with pytest.raises(InputError, match="`language` of \\[text\\] is not a key that is known here"):
        text.operators({"language": "en"})
