"""What a filter says by exceptions: it holds where a wider one does, except where one of its vetoes does.

`base and not (a and b) and not (c and d and e)` is an AND of ORs, whose alternatives would multiply. Of an AND that
would become too many conjunctions, only some ORs are distributed: those that few events satisfy, as far as they are
few. Each of the others is left out, and becomes vetoes: where it does not hold, be it false or unknown. So the numbers
of alternatives add up.
"""

from __future__ import annotations

from vedette.language.complements import complement_of, conjoined, reduced
from vedette.language.forms import All, Form, Values, size

KEPT = 32  # conjunctions that an AND with vetoes is distributed into, where this can be chosen
WORTH = 2  # vetoes have to make a form smaller by this factor
_BESIDE = 16  # tests of the filter itself that are asked in its vetoes, so that few events come near them
_WORK = 100_000  # tests that vetoes are made smaller by: looking at more of them would take seconds


def with_exceptions(alternatives: list[All], most: int) -> tuple[list[All], list[All]]:
    """A wider form and its vetoes: none where every AND becomes `most` conjunctions at most, or vetoes save little."""
    if all(size(each)[0] <= most for each in alternatives):
        return alternatives, []
    wider, vetoes = _wider_or(alternatives, most)
    return (wider, vetoes) if WORTH * size([*wider, *vetoes])[0] <= size(alternatives)[0] else (alternatives, [])


def _wider_or(alternatives: list[All], most: int) -> tuple[list[All], list[All]]:
    """What is taken away from one alternative must not be true by another."""
    wider: list[All] = []
    vetoes: list[All] = []
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


def _wider_and(form: All, most: int) -> tuple[All, list[All]]:
    """Without some of its ORs, where it is too large."""
    if size(form)[0] <= most:
        return form, []
    base = _first_tests(form)
    kept: list[list[All]] = []
    vetoes: list[Form] = []
    wide: list[Form] = []  # vetoes too, that hold for most events
    count = 1
    # Those that few events satisfy come first, small ones before large ones.
    for alternatives in sorted(form.anys, key=lambda each: (not _is_selective(each), size(each)[0])):
        room = KEPT // count
        if _is_selective(alternatives):
            if size(alternatives)[0] > room:
                # Perhaps it has exceptions of its own.
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
    # What holds for most events is asked only of those that the rest holds for.
    beside = kept if len(wide) * sum(map(_tests, kept)) <= _WORK else []
    vetoes += [conjoined([*beside, veto]) for veto in wide]
    return All(form.values, form.probes, kept), [each for veto in vetoes for each in _listed(reduced(veto))]


def _first_tests(form: All) -> All:
    """Some tests of an AND, those first that few events satisfy."""
    values = sorted(form.values.items(), key=lambda entry: not _is_narrow(entry[1], null=False))[:_BESIDE]
    probes = sorted(form.probes, key=lambda entry: not entry[1].positive)[: _BESIDE - len(values)]
    return All(dict(values), probes)


def _listed(form: Form) -> list[All]:
    return form if isinstance(form, list) else [form]


def _tests(form: Form) -> int:
    if isinstance(form, list):
        return sum(map(_tests, form))
    return len(form.values) + len(form.probes) + sum(map(_tests, form.anys))


# ---------------------------------------------------------------- how many events satisfy it


def _is_selective(form: Form, *, null: bool = False) -> bool:
    """Whether it asks for something, rather than for the absence of something; `null`: or that it is not known."""
    if isinstance(form, list):
        return all(_is_selective(each, null=null) for each in form)
    return (
        any(probe.positive for _, probe in form.probes)
        or any(_is_narrow(values, null) for values in form.values.values())
        or any(_is_selective(each, null=null) for each in form.anys)
    )


def _is_narrow(values: Values, null: bool) -> bool:
    """Not all values but a few."""
    if values.null and not null:
        return False
    bounds = values.intervals
    return not bounds or bounds[0].low is not None or bounds[-1].high is not None
