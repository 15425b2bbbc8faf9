"""CloudEvents SQL 1.0: `firstname = 'Francesco' OR subject LIKE 'F%'`."""

from __future__ import annotations

from vedette.dialects.cesql.evaluate import Problem, Result, evaluate
from vedette.dialects.cesql.parser import parse
from vedette.dialects.cesql.translate import translate
from vedette.dialects.cesql.values import ErrorKind

__all__ = ["ErrorKind", "Problem", "Result", "evaluate", "parse", "translate"]
