"""Process that computes for requests: one task after the other, JSON in and out, until it is ended or killed.

All that the text of a request can make slow is computed here, since a process can be killed and a thread cannot.
"""

from __future__ import annotations

import resource
import signal
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import orjson

from vedette import errors as of_vedette
from vedette.dialects.registry import translate
from vedette.errors import FilterError, VedetteError
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.patterns.machine_pictures import MachineProgress
from vedette.service import cover_report, dry_run, machine_answers, parse_report
from vedette.service import errors as of_service
from vedette.service.check_context import CheckContext
from vedette.service.stream_engine import JournalBatch

READY: Final = b"ready"
_KINDS: Final = {
    name: kind
    for module in (of_vedette, of_service)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, VedetteError)
}
_PLACES: Final = ("message", "text", "start", "end", "hint", "where")  # of a FilterError


def serve(pipe: Connection, operators: str | None, memory: int, seconds: float) -> None:
    """Compute the tasks that come through a pipe, with so much more memory than at the beginning.

    The caller holds the deadline of a task; the timer here only ends a process whose parent is gone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    known = Operators.installed() if operators is None else Operators.read(Path(operators))
    _hold_memory(memory)
    warm()
    pipe.send_bytes(READY)
    while True:
        try:
            asked = pipe.recv_bytes()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, 2 * seconds + 1)
        answer = _answer(asked, known)
        signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.send_bytes(answer)


def _answer(asked: bytes, operators: Operators) -> bytes:
    try:
        given = orjson.loads(asked)
        grounds = CheckContext.of(given["grounds"], operators)
        return orjson.dumps({"found": TASKS[given["task"]](grounds, given)}, option=orjson.OPT_NON_STR_KEYS)
    except MemoryError:
        return orjson.dumps({"memory": True})
    except VedetteError as error:
        return orjson.dumps({"error": _plain(error)})
    except Exception:  # the caller reports it as an internal error
        return orjson.dumps({"failed": traceback.format_exc()})


@operator(reads=("a",), name="warmed")
def _warmed(event: Any) -> bool:
    return bool(event["a"] == 1)


def warm() -> None:
    """Load the modules and the machine code that the first task would have to wait for."""
    grounds = CheckContext.of({"schema": {}, "closed": False, "dearest": 1e9}, Operators(_warmed))
    for when, predict in (
        ("a = 1 and b like 'x%'", None),
        ("[a = 1] ; [a = 2] within 1 h", {"within": 2}),
        ("warmed() and a > 0", None),
    ):
        dry_run.dry_run(grounds, when, predict, [{"a": 1}, {"a": 2}], None)


def _hold_memory(more: int) -> None:
    figures = Path("/proc/self/statm")
    if figures.exists():  # on Linux
        most = int(figures.read_text(encoding="ascii").split()[0]) * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


# ---------------------------------------------------------------- errors, across


def _plain(error: VedetteError) -> dict[str, Any]:
    kind = next(each.__name__ for each in type(error).__mro__ if _KINDS.get(each.__name__) is each)
    if isinstance(error, FilterError):
        return {"kind": kind, **{name: getattr(error, name) for name in _PLACES}}
    return {"kind": kind, "message": str(error)}


def error_of(plain: Mapping[str, Any]) -> VedetteError:
    """The error that was raised in the process, as an exception."""
    kind, rest = _KINDS[plain["kind"]], {name: plain[name] for name in _PLACES[1:] if name in plain}
    return kind(plain["message"], **rest)


# ---------------------------------------------------------------- tasks


def _translated(_: CheckContext, given: Mapping[str, Any]) -> dict[str, Any]:
    made = translate(given["dialect"], given["when"])
    return {"when": made.when, "origin": dict(made.origin)}


def _checked(grounds: CheckContext, given: Mapping[str, Any]) -> list[Any]:
    return list(grounds.checked(given["when"], given["predict"], want=given["want"]))


def _tried(grounds: CheckContext, given: Mapping[str, Any]) -> dict[str, Any]:
    traffic = None if given["traffic"] is None else JournalBatch(**given["traffic"])
    return dry_run.dry_run(grounds, given["when"], given["predict"], given["samples"], traffic).model_dump(mode="json")


def _parsed(grounds: CheckContext, given: Mapping[str, Any]) -> dict[str, Any]:
    return parse_report.parse_report(grounds, given["when"], given["predict"]).model_dump(mode="json")


def _covering(grounds: CheckContext, given: Mapping[str, Any]) -> dict[str, Any]:
    some = [cover_report.ComparedSubscription(**each) for each in given["some"]]
    return cover_report.covering(given["stream"], grounds.schema, some, given["left_out"]).model_dump(mode="json")


def _covered(grounds: CheckContext, given: Mapping[str, Any]) -> dict[str, Any]:
    some = [cover_report.ComparedSubscription(**each) for each in given["some"]]
    return cover_report.covered_one(grounds.schema, cover_report.ComparedSubscription(**given["one"]), some).model_dump(
        mode="json"
    )


def _drawn(_: CheckContext, given: Mapping[str, Any]) -> dict[str, Any]:
    return machine_answers.drawn(MachineProgress.of(given["progress"]), given["predict"]).model_dump(mode="json")


def _offered(grounds: CheckContext, given: Mapping[str, Any]) -> None:
    grounds.check_offer(given["when"])


TASKS: Final[Mapping[str, Callable[[CheckContext, Mapping[str, Any]], Any]]] = {
    "translate": _translated,
    "check": _checked,
    "try": _tried,
    "parse": _parsed,
    "covering": _covering,
    "covered": _covered,
    "machine": _drawn,
    "offer": _offered,
}
