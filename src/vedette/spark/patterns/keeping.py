"""What a worker process keeps by the name of its version alone, however it was handed in."""

from __future__ import annotations

from typing import Generic, TypeVar

Made = TypeVar("Made")


class Beside(Generic[Made]):
    """Something that counts for nothing when calls are compared: a version beside it says which it is.

    So a function that is cached takes both, and does not have to compare, or even hash, what may be large.
    """

    def __init__(self, it: Made) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beside)

    def __hash__(self) -> int:
        return 0
