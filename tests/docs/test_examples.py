"""Every example of the README and the documentation does what the page says."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.docs.pages import PAGES, Block, agrees, blocks, commands
from tests.docs.served import Served

# Where the `vedette` command of this environment is, and nothing that asks the terminal for its width or colours.
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "100",
    "LINES": "40",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONUTF8": "1",
}
ENVIRONMENT.pop("FORCE_COLOR", None)
_NEEDS = {
    "spark": re.compile(r"spark|vedette run (?!--check)|vedette checkpoint|vedette demo"),
    "service": re.compile(r'vedette serve|"serve"'),
}
Bash: TypeAlias = Callable[[str], tuple[int, str]]  # a command; its exit status, and what it printed


def _runs() -> Iterator[Any]:
    """The pages that have something to run, marked by what it needs."""
    for page in PAGES:
        run = [block.body for block in blocks(page) if block.kind in ("python", "console")]
        if run:
            needs = [name for name, said in _NEEDS.items() if any(said.search(body) for body in run)]
            yield pytest.param(page, marks=[getattr(pytest.mark, name) for name in needs])


@pytest.fixture
def bash(page: str) -> Iterator[Bash]:
    """README's commands have processes of their own, as readers' have; those of other pages are served."""
    if page == "README.md":
        yield _in_a_process
        return
    with tempfile.TemporaryDirectory(prefix="vedette-") as folder:
        served = Served(Path(folder), ENVIRONMENT)
        yield served.bash
        served.close()


def _in_a_process(command: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", command],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,  # the first command may have to compile kernels
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.long
@pytest.mark.parametrize("page", list(_runs()))
def test_examples(
    page: str, bash: Bash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if request.node.get_closest_marker("spark") is not None:
        request.getfixturevalue("spark")  # the session that the page then finds running
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(page):
        if block.kind == "python":
            printed = _run_python(page, block, namespace)
        elif block.kind == "text output":
            _expect(printed is not None, f"{page}:{block.line}: no python block stands before this output")
            _expect(agrees(printed or "", block.body), f"{page}:{block.line}: what is printed is\n{printed}")
            printed = None
        elif block.kind == "console":
            _run_console(page, block, bash)


def _expect(right: bool, complaint: str) -> None:
    if not right:
        pytest.fail(complaint, pytrace=False)


def _run_python(page: str, block: Block, namespace: dict[str, Any]) -> str:
    """Run a block statement by statement, compare results, and return what it printed."""
    lines = block.body.splitlines()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for statement in ast.parse(block.body).body:
            place = f"{page}:{block.line + statement.lineno - 1}"
            last = lines[(statement.end_lineno or 1) - 1]
            expected = last.partition("  # -> ")[2]
            try:
                if expected and isinstance(statement, ast.Expr):
                    code = compile(ast.Expression(statement.value), place, "eval")
                    found = repr(eval(code, namespace))  # noqa: S307 - our own documentation
                    _expect(agrees(found, expected), f"{place}: the result is {found}")
                else:
                    _expect(not expected, f"{place}: only an expression has a result")
                    exec(compile(ast.Module([statement], []), place, "exec"), namespace)  # noqa: S102
            except Exception as error:
                _expect(False, f"{place}: {type(error).__name__}: {error}")
    return out.getvalue()


def _run_console(page: str, block: Block, bash: Bash) -> None:
    for command in commands(block):
        status, printed = bash(command.text)
        place = f"{page}:{command.line}"
        _expect(status == command.status, f"{place}: exit status {status}\n{printed}")
        _expect(agrees(printed, command.shown), f"{place}: what is printed is\n{printed}")


def test_what_agrees() -> None:
    assert agrees("a\nb  \n", "a\nb")
    assert agrees("took 1.25 s\n", "took ... s")
    assert agrees("a\nb\nc\nd\n", "a\n...\nd")
    assert agrees("a\nd\n", "a\n...\nd")
    assert not agrees("a\nb\n", "a")
    assert not agrees("took 1 s\nmore\n", "took ... s")
    assert not agrees("a.c", "abc")


def test_commands_are_cut_out_of_console_blocks() -> None:
    body = "$ cat > f <<'END'\n$ not a command\nEND\n$ head \\\n  f\n$ not a command\n$ false # exit status 1\n"
    found = list(commands(Block("console", body, 10)))
    assert [(one.text, one.shown, one.status, one.line) for one in found] == [
        ("cat > f <<'END'\n$ not a command\nEND", "", 0, 10),
        ("head \\\n  f", "", 0, 13),
        ("not a command", "", 0, 15),
        ("false # exit status 1", "", 1, 16),
    ]


@pytest.mark.parametrize("page", PAGES)
def test_nothing_that_could_be_run_is_left_out(page: str) -> None:
    for block in blocks(page):
        if block.kind == "sh":
            assert "vedette " not in block.body, f"{page}:{block.line}: make it a console block"
        else:
            assert block.kind.split(" ")[0] != "bash", f"{page}:{block.line}: a block is `console`, or `sh`"
