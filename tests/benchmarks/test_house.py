"""Figures about the source are counted right, on a small package that is made for it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.house import changes, nodes
from benchmarks.house.__main__ import ROOT, main
from benchmarks.house.figures import House, read_house
from benchmarks.house.functions import complexity
from benchmarks.house.imports import cycles, groups, longest_chain
from benchmarks.house.modules import PAGE, modules_page, write
from benchmarks.house.seconds import measure, read_seconds
from benchmarks.house.source import read_package

FILES = {
    "__init__.py": '"""The package."""\n',
    "language/__init__.py": "",
    "language/ast.py": "class Range:\n    pass\n\n\nclass Near:\n    pass\n",
    "top.py": """
from small.red import first
from small.language.ast import Range as Interval

def shown(node):
    return isinstance(node, Interval)
""",
    "red/__init__.py": "",
    "red/first.py": '''
"""What is red?

# not a comment
"""
from typing import TYPE_CHECKING
from small.blue.first import blue
if TYPE_CHECKING:
    from small import top
else:
    import small.red.second

# a comment
class Part: ...
''',
    "red/second.py": 'class Part:\n    class Inner: ...\n\nTEXT = """\n# a line of a text\n"""\n',
    "blue/__init__.py": "",
    "blue/first.py": """
from small.language import ast

class Part: ...

def blue(node) -> int:
    import small.red.second
    match node:
        case ast.Range():
            return 1
    return 0

TABLE = {ast.Range: blue}
""",
    "blue/inner/__init__.py": "",
    "blue/inner/deep.py": "def back():\n    from small.blue import last\n",
    "blue/last.py": "from small.blue.inner.deep import back\nfrom small.language.ast import Near\nnear = Near\n",
    "kernels/__init__.py": "",
    "kernels/first.py": "def hard(a):\n" + "    if a: pass\n" * 21,
    "hard.py": "def hard(a):\n" + "    if a: pass\n" * 21 + "\n" * 40 + "    return a\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("checkout")
    for name, text in FILES.items():
        path = made / "src" / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return made


@pytest.fixture(scope="module")
def house(root: Path) -> House:
    return read_house(root)


def test_sizes(house: House) -> None:
    lines = [len(text.splitlines()) for text in FILES.values()]
    assert house.figures["modules"] == len(FILES)
    assert house.figures["lines"] == sum(lines)
    assert house.figures["lines of a module, most"] == max(lines)
    by_hand = [0, 0, 4, 4, 0, 7, 5, 0, 9, 0, 2, 3, 0, 22, 23]
    assert house.figures["code lines"] == sum(by_hand)


def test_chains_and_cycles(house: House) -> None:
    assert house.figures["longest chain of imports when loaded"] == 4  # top, red.first, blue.first, language.ast
    assert house.details["The longest chain of imports"][:3] == ["small.top", "small.red.first", "small.blue.first"]
    assert house.details["Cycles of modules"] == ["small.blue.inner.deep = small.blue.last"]
    # red imports blue when it is loaded, and a function of blue imports red; the import for types makes no cycle.
    assert house.details["Cycles of folders"] == ["small.blue = small.red", "small.blue.inner = small.blue.last"]
    assert house.figures["cycles of folders"] == 2


def test_names(house: House) -> None:
    assert house.figures["class names of more than one class"] == 1
    assert house.details["Class names of more than two classes"] == ["Part: 3"]
    assert house.figures["modules that share a file name"] == 3


def test_functions(house: House) -> None:
    assert house.details["Functions with a complexity over 20, outside kernels"] == ["small.hard.hard: 22"]
    assert house.figures["functions with a complexity over 20, in kernels"] == 1
    assert house.details["Functions of more than 60 lines"] == ["small.hard.hard: 63"]
    assert house.figures["functions with a return type, %"] == 20
    assert house.details["Docstrings that begin with a question"] == ["small.red.first: What is red?"]


def test_nodes_of_the_language(house: House) -> None:
    assert house.details["Modules that dispatch on `Range`"] == ["small.blue.first", "small.top"]
    assert house.figures["modules that name `Near`"] == 1


def test_nodes_are_found_wherever_they_are_imported_from(tmp_path: Path) -> None:
    package = tmp_path / "src" / "small"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for name, line in {
        "tests": "from small.language.test_nodes.range import Range",
        "below": "from small.language.syntax import Range",
        "other": "from small.language.test_nodes_of_others import Range",
    }.items():
        (package / f"{name}.py").write_text(f"{line}\nprint(isinstance(None, Range))\n")
    assert nodes.dispatching(read_package(tmp_path))["Range"] == ["small.below", "small.tests"]


@pytest.mark.parametrize(
    ("body", "ways"),
    [
        ("return 1", 1),
        ("if a and b or c: pass\n elif b: pass\n else: pass", 5),
        ("return [x for x in a if x if b]", 4),
        ("try: pass\n except OSError: pass\n finally: pass", 2),
        ("match a:\n  case 1: pass\n  case _: pass", 2),
        ("def inner():\n  if a: pass\n return 1 if a else 2", 2),
        ("while a:\n  for x in b: pass", 3),
    ],
)
def test_complexity(body: str, ways: int) -> None:
    (function,) = ast.parse(f"def f(a, b, c):\n {body}\n").body
    assert isinstance(function, ast.FunctionDef)
    assert complexity(function) == ways


def test_modules_that_import_each_other_are_one_step() -> None:
    graph = {name: frozenset(targets) for name, targets in {"a": "b", "b": "cd", "c": "a", "d": "e", "e": ""}.items()}
    assert groups(graph) == [("e",), ("d",), ("a", "b", "c")]
    assert cycles(graph) == [("a", "b", "c")]
    assert longest_chain(graph) == ["a = b = c", "d", "e"]


def test_the_page_and_what_is_kept(root: Path, house: House, tmp_path: Path) -> None:
    store, page, seconds = tmp_path / "then.json", tmp_path / "page.md", tmp_path / "seconds.json"
    main(["--root", str(root), "--store", str(store), "--version", "0.0"])
    assert json.loads(store.read_text()) == {"version": "0.0", "commit": "", "figures": house.figures}
    given = ["--root", str(root), "--before", str(store), "--page", str(page), "--seconds", str(seconds)]
    main(given)
    assert re.search(r"^\| modules \| 15 \| 15 \|", page.read_text(), re.MULTILINE)
    assert "| seconds of `make test` | not measured | not measured |" in page.read_text()
    (root / "Makefile").write_text("check:\n\t@true\ntest:\n\t@false\n")
    measure("check", root, seconds)
    with pytest.raises(SystemExit, match="make test failed with exit status 2"):
        measure("test", root, seconds)
    assert list(read_seconds(seconds)) == ["check"]
    main(given)
    assert re.search(
        r"^\| seconds of `make check` \| not measured \| 0 \(\d+ cores, load ", page.read_text(), re.MULTILINE
    )


def test_the_list_of_modules(tmp_path: Path) -> None:
    package = tmp_path / "src" / "small"
    (package / "red").mkdir(parents=True)
    (package / "__init__.py").write_text('"""The package."""\n')
    (package / "top.py").write_text('"""A `*-edge` for <all>, *here*.\n\nAnd more of it.\n"""\n')
    (package / "red" / "__init__.py").write_text("")
    (package / "red" / "second.py").write_text("raise RuntimeError  # never imported\n")
    write(tmp_path)
    page = (tmp_path / PAGE).read_text()
    assert page == modules_page(tmp_path)
    expected = """
## small

The package.

- `top.py`: A `*-edge` for \\<all>, \\*here\\*.

## small.red

(no docstring)

- `second.py`: (no docstring)
"""
    assert page.endswith(expected)


def test_more_than_one_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="found: none"):
        read_house(tmp_path)


def test_the_commonest_changes_touch_files_that_exist() -> None:
    assert changes.missing(ROOT) == []


def test_nothing_of_what_is_counted_is_imported() -> None:
    code = "import benchmarks.house.__main__, sys; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"vedette", "numpy", "numba", "pyarrow"} & set(ast.literal_eval(done.stdout))
