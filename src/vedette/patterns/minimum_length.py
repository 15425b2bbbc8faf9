"""The least number of events that complete a pattern; a pattern of one event can match without a stream."""

from __future__ import annotations

from vedette.language import ast


def fewest_events(pattern: ast.Pattern) -> int:
    """The least number of events that complete a pattern."""
    match pattern:
        case ast.Step():
            return 1
        case ast.Absence():
            return 0
        case ast.TimedPattern(part=part):
            return fewest_events(part)
        case ast.Repeat(part=part, least=least):
            return least * fewest_events(part)
        case ast.PatternOr(parts=parts):
            return min(map(fewest_events, parts))
        case ast.PatternAnd(parts=parts):  # one event may take a step of each of them
            return max(map(fewest_events, parts))
        case ast.Sequence(parts=parts):
            return sum(map(fewest_events, parts))
