"""The dialect `cesql`, CloudEvents SQL 1.0: `firstname = 'Francesco' OR subject LIKE 'F%'`."""

from __future__ import annotations

from vedette.dialects.cesql.evaluate import CesqlProblem, CesqlResult, evaluate
from vedette.dialects.cesql.parser import parse
from vedette.dialects.cesql.translate import translate
from vedette.dialects.cesql.values import ErrorKind

__all__ = ["CesqlProblem", "CesqlResult", "ErrorKind", "evaluate", "parse", "translate"]
