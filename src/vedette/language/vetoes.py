"""Vetoes: express a filter as a wider form with exceptions, so that sizes add up instead of multiplying.

`base and not (a and b) and not (c and d and e)` is an AND of ORs, whose alternatives would multiply. Of an AND that
would become too many conjunctions, only some ORs are distributed: those that few events satisfy, as long as they are
few. Each of the others is left out, and its complement becomes vetoes: where it does not hold, be it false or unknown.
So the filter holds where the wider form does and no veto does, and the numbers of alternatives add up.

It is exact: negation has been pushed down before, so a form says where the filter is true and nothing else. The limit
was measured: at 16 conjunctions a filter with exceptions is added three times as fast with vetoes, at 64 fifteen times,
and matched no slower.
"""

from __future__ import annotations

from vedette.language.complements import complement_of, conjoined, reduced
from vedette.language.forms import AndForm, Form, Values, size

KEPT = 32  # conjunctions that an AND with vetoes is distributed into, if there is a choice
WORTH = 2  # vetoes have to make a form smaller by this factor
_BESIDE = 16  # tests of the filter itself that are repeated in its vetoes, so that few events get near them
_WORK = 100_000  # tests that are used to shrink vetoes: examining more of them would take seconds


def with_exceptions(alternatives: list[AndForm], most: int) -> tuple[list[AndForm], list[AndForm]]:
    """A wider form and its vetoes; no vetoes if every AND has at most `most` conjunctions, or vetoes save little."""
    if all(size(each)[0] <= most for each in alternatives):
        return alternatives, []
    wider, vetoes = _wider_or(alternatives, most)
    return (wider, vetoes) if WORTH * size([*wider, *vetoes])[0] <= size(alternatives)[0] else (alternatives, [])


def _wider_or(alternatives: list[AndForm], most: int) -> tuple[list[AndForm], list[AndForm]]:
    """The wider form of an OR: an alternative's vetoes must not exclude events that another alternative matches."""
    wider: list[AndForm] = []
    vetoes: list[AndForm] = []
    tests, work = _tests(alternatives), 0
    for place, one in enumerate(alternatives):
        made, theirs = _wider_and(one, most)
        if theirs and len(alternatives) > 1:
            work += tests * len(theirs)
            others = complement_of(alternatives[:place] + alternatives[place + 1 :]) if work <= _WORK else None
            if others is None:
                made, theirs = one, []
            else:
                theirs = [each for veto in theirs for each in _listed(reduced(conjoined([veto, others])))]
        wider.append(made)
        vetoes += theirs
    return wider, vetoes


def _wider_and(form: AndForm, most: int) -> tuple[AndForm, list[AndForm]]:
    """The wider form of an AND, without some of its ORs if it is too large, and the vetoes."""
    if size(form)[0] <= most:
        return form, []
    base = _first_tests(form)
    kept: list[list[AndForm]] = []
    vetoes: list[Form] = []
    wide: list[Form] = []  # also vetoes, which hold for most events
    count = 1
    # ORs that few events satisfy come first, small ones before large ones.
    for alternatives in sorted(form.anys, key=lambda each: (not _is_selective(each), size(each)[0])):
        room = KEPT // count
        if _is_selective(alternatives):
            if size(alternatives)[0] > room:
                # It may have exceptions of its own.
                wider, theirs = _wider_or(alternatives, max(1, room // len(alternatives)))
                if theirs and size(wider)[0] <= room:
                    alternatives = wider
                    vetoes += [conjoined([base, veto]) for veto in theirs]
            if size(alternatives)[0] <= room:
                kept.append(alternatives)
                count *= size(alternatives)[0]
                continue
        opposite = complement_of(alternatives)
        veto = None if opposite is None else reduced(conjoined([base, opposite]))
        if opposite is None or veto is None or size(veto)[0] > max(KEPT, size(alternatives)[0]):
            kept.append(alternatives)
            count *= size(alternatives)[0]
        elif _is_selective(reduced(opposite), null=_is_selective(base)):
            vetoes.append(veto)
        else:
            wide.append(veto)
    # Vetoes that hold for most events are tested only where the rest of the AND holds.
    beside = kept if len(wide) * sum(map(_tests, kept)) <= _WORK else []
    vetoes += [conjoined([*beside, veto]) for veto in wide]
    return AndForm(form.values, form.probes, kept), [each for veto in vetoes for each in _listed(reduced(veto))]


def _first_tests(form: AndForm) -> AndForm:
    """Some tests of an AND, beginning with those that few events satisfy."""
    values = sorted(form.values.items(), key=lambda entry: not _is_narrow(entry[1], null=False))[:_BESIDE]
    probes = sorted(form.probes, key=lambda entry: not entry[1].positive)[: _BESIDE - len(values)]
    return AndForm(dict(values), probes)


def _listed(form: Form) -> list[AndForm]:
    return form if isinstance(form, list) else [form]


def _tests(form: Form) -> int:
    if isinstance(form, list):
        return sum(map(_tests, form))
    return len(form.values) + len(form.probes) + sum(map(_tests, form.anys))


# ---------------------------------------------------------------- how many events satisfy it


def _is_selective(form: Form, *, null: bool = False) -> bool:
    """Whether a form requires a value, rather than the absence of one; with `null`, tests for null count too."""
    if isinstance(form, list):
        return all(_is_selective(each, null=null) for each in form)
    return (
        any(probe.positive for _, probe in form.probes)
        or any(_is_narrow(values, null) for values in form.values.values())
        or any(_is_selective(each, null=null) for each in form.anys)
    )


def _is_narrow(values: Values, null: bool) -> bool:
    """Whether a set is not all values but a few."""
    if values.null and not null:
        return False
    bounds = values.intervals
    return not bounds or bounds[0].low is not None or bounds[-1].high is not None
