"""Both sides of a meeting from files: all of their constraints, or every reason why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vedette.errors import FilterError, InputError, NotSupported
from vedette.files.problems import Problem, refusal
from vedette.files.subscriptions import SubscriptionRecord, SubscriptionRows
from vedette.meeting.inference import Inference, attributes_of
from vedette.meeting.reading import Constraint, Constraints
from vedette.schema.schema import Schema

_STRIDE = 4096  # records between two looks at the progress


class BadConstraints(InputError):
    """Constraints that stop the work; says of every one where it is and what is wrong."""

    def __init__(self, sides: Sequence[Side], consequence: str) -> None:
        parts = [part for side in sides for part in side.complaints()]
        total = "1 constraint is bad" if len(parts) == 1 else f"{len(parts):,} constraints are bad"
        super().__init__("\n\n".join([*parts, f"{total}; {consequence}."]))


@dataclass(slots=True)
class Side:
    """The constraints of one file, in its order."""

    file: SubscriptionRows
    records: list[SubscriptionRecord] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """Their names."""
        return [record.id for record in self.records]

    def complaints(self) -> list[str]:
        """What is wrong, each with its place, in the order of the file."""
        what = self.file.role.name
        ordered = sorted(self.problems, key=lambda problem: problem.line)
        return [f"{problem.where(self.file.name, what)}\n{problem}" for problem in ordered]

    def fetch(self, told: Callable[[float | None, int], None]) -> None:
        """Read all records; `told` hears now and then how far that is."""
        for number, record in enumerate(self.file, 1):
            if number % _STRIDE == 0:
                told(self.file.progress, number)
            error = refusal(record, dialects=False)
            if error is None:
                self.records.append(record)
            else:
                self.problems.append(Problem.of_error(record, error))
        self.problems += map(Problem.of_reject, self.file.rejects)

    def tell(self, inference: Inference) -> None:
        """Let it hear all texts; those that make no sense, or disagree with others, are left out."""
        name, role = self.file.name, self.file.role.name
        self._keep(lambda record: inference.add(record.when, f"{role} {record.id!r} ({name}, line {record.line})"))

    def read(self, reader: Constraints) -> None:
        """Give every record its constraint; those that have none are left out."""
        self._keep(lambda record: self.constraints.append(reader.read(record.when)))

    def _keep(self, heard: Callable[[SubscriptionRecord], None]) -> None:
        kept = []
        for record in self.records:
            try:
                heard(record)
            except (FilterError, NotSupported) as error:
                self.problems.append(Problem.of_error(record, error))
            else:
                kept.append(record)
        self.records = kept


def settle(sides: Sequence[Side], schema: Schema | None, consequence: str = "nothing was written") -> Schema:
    """Give all records their constraints, by a schema or by what all of them suggest; the schema is returned.

    BadConstraints has everything that is wrong with any of them.
    """
    inference = Inference()
    if schema is None:
        for side in sides:
            side.tell(inference)
        schema = inference.schema()
    reader, disputed = Constraints(schema), inference.disputed
    for side in sides:
        if disputed:  # nobody knows their types, so that nothing more can be said of who uses them
            side.records = [record for record in side.records if disputed.isdisjoint(attributes_of(record.when))]
        side.read(reader)
    if any(side.problems for side in sides):
        raise BadConstraints(sides, consequence)
    return schema
