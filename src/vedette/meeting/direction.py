"""Options of a meeting: whose attributes have to be present, and for which side the best are kept."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from vedette.errors import InputError

# publication: every attribute of the publication occurs in the subscription (the paper's own). subscription: the other
# way round, as where publications are events. open: only attributes that both have count.
Direction: TypeAlias = Literal["publication", "subscription", "open"]
RankSide: TypeAlias = Literal["publication", "subscription"]

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
PERS: tuple[RankSide, ...] = get_args(RankSide)


def check_direction(direction: str) -> None:
    """InputError if there is no such direction."""
    if direction not in DIRECTIONS:
        raise InputError(f"direction={direction!r} is not known\nHint: it is one of {', '.join(DIRECTIONS)}")


def check_per(per: str) -> None:
    """InputError if ranking is not possible for this side."""
    if per not in PERS:
        raise InputError(f"per={per!r} is not known\nHint: it is one of {', '.join(PERS)}")
