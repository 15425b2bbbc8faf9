"""Finding operators: handed in, in files, and brought by packages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FileError, InputError
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import Operator, operator
from vedette.operators.registry import Operators

Package: TypeAlias = Callable[[str, str], None]

CODE = "from vedette.operators.operator import operator\n"
BOROUGHS = CODE + "@operator\ndef inBronx(event):\n    return event.get('place') == 'Bronx'\n"


def _named(*names: str) -> list[Operator]:
    return [Operator(name, lambda event: True, 0) for name in names]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Installs a module with entry points, as pip would leave it."""

    def install(code: str, points: str) -> None:
        folder = tmp_path / "installed"
        name = f"made_up_{tmp_path.name}".replace("-", "_").lower()
        (folder / f"{name}-1.0.dist-info").mkdir(parents=True)
        (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        listed = "[vedette.operators]\n" + points.replace("MODULE", name)
        (folder / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(listed)
        (folder / f"{name}.py").write_text(CODE + code)
        monkeypatch.syspath_prepend(folder)

    return install


# ---------------------------------------------------------------- by name


def test_a_registry_is_a_mapping() -> None:
    p, q = _named("p", "q")
    registry = Operators(p, q)
    assert dict(registry) == {"p": p, "q": q}
    assert registry.find("q") is q
    registry.add(p)  # again: nothing happens
    assert len(registry) == 2


def test_a_name_stands_for_one_operator() -> None:
    with pytest.raises(InputError, match="there is an operator 'p' already"):
        Operators(*_named("p", "p"))


def test_only_operators_are_added() -> None:
    with pytest.raises(InputError, match="declare it with @operator"):
        Operators(len)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "asked", "said"),
    [
        (["locIn", "mentions"], "locin", "there is no operator 'locin'\nHint: did you mean locIn?"),
        (["locIn", "mentions"], "temperature", "Hint: there are locIn, mentions"),
        ([], "p", "Hint: there are none"),
    ],
)
def test_a_name_that_is_not_there(names: list[str], asked: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        Operators(*_named(*names)).find(asked)
    assert said in str(raised.value)


# ---------------------------------------------------------------- brought by packages


def test_an_entry_point_is_an_operator_or_a_function_of_settings(package: Package) -> None:
    package(
        "@operator\ndef one(event):\n    return True\n"
        "def some(settings):\n    yield operator('two', cost=settings.get('cost', 0.5))(lambda event: True)\n",
        "made_up_one = MODULE:one\nmade_up_some = MODULE:some\n",
    )
    assert Operators.installed().find("one")({}) is True
    assert Operators.installed().find("two").cost == 0.5
    assert Operators.installed({"made_up_some": {"cost": 2.0}}).find("two").cost == 2.0


def test_what_cannot_be_loaded_is_missing_and_says_why(package: Package) -> None:
    package(
        "@operator\ndef fine(event):\n    return True\n"
        "def needs(settings):\n    import no_such_package_at_all\n"
        "def breaks(settings):\n    raise ZeroDivisionError('while it was set up')\n"
        "number = 7\n"
        "def undeclared(settings):\n    return [len]\n"
        "def misdeclared(settings):\n    return [operator('p', outputs=-1)(fine.function)]\n",
        "made_up_fine = MODULE:fine\nmade_up_needs = MODULE:needs\nmade_up_gone = MODULE:gone\n"
        "made_up_breaks = MODULE:breaks\nmade_up_number = MODULE:number\n"
        "made_up_undeclared = MODULE:undeclared\nmade_up_misdeclared = MODULE:misdeclared\n",
    )
    found = Operators.installed()
    assert "fine" in found
    assert "No module named 'no_such_package_at_all'" in found.missing["made_up_needs"]
    assert "gone" in found.missing["made_up_gone"]
    assert "while it was set up" in found.missing["made_up_breaks"]
    assert "neither an operator nor a function" in found.missing["made_up_number"]
    assert "len> is no operator" in found.missing["made_up_undeclared"]
    assert found.missing["made_up_misdeclared"] == "operator 'p': outputs is -1 Hint: a whole number, 0 or more"
    with pytest.raises(InputError, match=r"'made_up_needs' could not be loaded: .*no_such_package_at_all"):
        found.find("needed")


def test_wrong_settings_are_told_with_their_entry_point(package: Package) -> None:
    package(
        "from vedette.errors import InputError\ndef some(settings):\n    raise InputError('colour: no such key')\n",
        "made_up = MODULE:some\n",
    )
    with pytest.raises(InputError, match="the entry point 'made_up': colour: no such key"):
        Operators.installed({"made_up": {"colour": "red"}})
    assert Operators.installed().missing == {"made_up": "colour: no such key"}  # nobody may want it


def test_two_packages_with_one_name_are_told_apart(package: Package) -> None:
    package(
        "a = operator('same')(lambda event: True)\nb = operator('same')(lambda event: False)\n",
        "made_up_a = MODULE:a\nmade_up_b = MODULE:b\n",
    )
    with pytest.raises(InputError, match=r"the entry point 'made_up_b' .*: there is an operator 'same' already"):
        Operators.installed()


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"made_upp": {}}, r"\[made_upp\].*\n.*did you mean \[made_up\]"), ({"made_up": 3}, "made_up: 3 is not a table")],
)
def test_settings_of_nothing(package: Package, settings: dict[str, Any], said: str) -> None:
    package("one = operator('one')(lambda event: True)\n", "made_up = MODULE:one\n")
    with pytest.raises(InputError, match=said):
        Operators.installed(settings)


# ---------------------------------------------------------------- in files


def test_a_python_file(tmp_path: Path) -> None:
    (tmp_path / "boroughs.py").write_text(BOROUGHS)
    found = Operators.read(tmp_path / "boroughs.py").find("inBronx")
    assert found({"place": "Bronx"}) is True


def test_a_toml_file_names_modules_and_has_settings(package: Package, tmp_path: Path) -> None:
    package(
        "def some(settings):\n    return [operator(settings['name'])(lambda event: settings)]\n",
        "made_up = MODULE:some\n",
    )
    (tmp_path / "boroughs.py").write_text(BOROUGHS)
    (tmp_path / "operators.toml").write_text(
        'modules = ["./boroughs.py"]\n[made_up]\nname = "settled"\nmore.deep = 1\n'
    )
    found = Operators.read(str(tmp_path / "operators.toml"))
    assert found.find("inBronx")({"place": "Queens"}) is False
    assert found.find("settled")({}) == {"name": "settled", "more": {"deep": 1}, "_folder": tmp_path}


def test_a_module_is_named_as_in_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_up_boroughs.py").write_text(BOROUGHS)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "operators.toml").write_text('modules = ["made_up_boroughs"]')
    assert "inBronx" in Operators.read(tmp_path / "operators.toml")


def test_an_operator_of_the_file_takes_the_place_of_an_installed_one(package: Package, tmp_path: Path) -> None:
    package("one = operator('inBronx')(lambda event: None)\n", "made_up = MODULE:one\n")
    (tmp_path / "boroughs.py").write_text(BOROUGHS)
    assert Operators.installed().find("inBronx")({}) is None
    assert Operators.read(tmp_path / "boroughs.py").find("inBronx")({}) is False


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text(BOROUGHS.replace("inBronx", f"in_{folder}"))
    (tmp_path / "operators.toml").write_text('modules = ["a/same.py", "b/same.py"]')
    assert {"in_a", "in_b"} <= set(Operators.read(tmp_path / "operators.toml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modules = 1 2", "not a TOML file: .*line 1"),
        ('modules = "a.py"', "modules: 'a.py' is not a list of texts"),
        ("modules = [3]", r"modules: \[3\] is not a list of texts"),
        ('modules = ["./gone.py"]', "modules: './gone.py': there is no file"),
        (
            'modules = ["no.such.module"]',
            "modules: 'no.such.module': it cannot be imported: ModuleNotFoundError: [^(]*$",
        ),
        ('modules = ["./empty"]', r"(?s)modules: './empty': it cannot be imported.*a file ends with .py"),
        ('modules = ["./empty.py"]', "modules: './empty.py': it has no operators"),
        ('modules = ["./broken.py"]', r"modules: './broken.py': it cannot be imported: NameError: .*broken.py:2\)"),
        (
            'modules = ["./syntax.py"]',
            r"modules: './syntax.py': it cannot be imported: SyntaxError: .*syntax.py, line 1\)$",
        ),
        (
            'modules = ["./bad.py"]',
            r"(?s)modules: './bad.py': it cannot be imported: operator 'p': outputs is -1\nHint: a whole",
        ),
        ('modules = ["./option.py"]', r"TypeError: .*'output' \(.*option.py:\d\)$"),
        ('modules = ["./leaving.py"]', r"it cannot be imported: SystemExit: 3 \(.*leaving.py:2\)$"),
        ('modules = ["./one.py", "./two.py"]', "modules: './two.py': there is an operator 'inBronx' already"),
        ("moduls = 3", "moduls: 3 is not a table"),
        ("[no_such_operators]\nx = 1", r"\[no_such_operators\]: no package brings operators of this name"),
    ],
)
def test_mistakes_in_a_toml_file_name_the_file_and_the_key(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "broken.py").write_text("x = 1\nnobody_knows()\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "bad.py").write_text(CODE + "operator('p', outputs=-1)(lambda event: True)\n")
    (tmp_path / "option.py").write_text(CODE + "operator('p', output=1)(lambda event: True)\n")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "one.py").write_text(BOROUGHS)
    (tmp_path / "two.py").write_text(BOROUGHS)
    file = tmp_path / "operators.toml"
    file.write_text(text)
    with pytest.raises(FileError, match=said) as raised:
        Operators.read(file)
    assert str(raised.value).startswith(f"{file}: ")


def test_files_that_are_not_there_or_something_else(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        Operators.read(tmp_path / "gone.toml")
    (tmp_path / "operators.yaml").write_text("")
    with pytest.raises(FileError, match=r"in a \.py file"):
        Operators.read(tmp_path / "operators.yaml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(FileError, match="not a TOML file"):
        Operators.read(tmp_path / "latin.toml")


def test_operators_imported_by_a_module_count_once(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(BOROUGHS + "again = inBronx\n")
    own = set(Operators.read(tmp_path / "twice.py")) - set(Operators.installed())
    assert own == {"inBronx"}


def test_of_a_file_that_is_handed_in_only_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(FileError, match=r"empty\.py: it has no operators\nHint: declare them"):
        Operators.read(tmp_path / "empty.py")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ops.py", "not as str\nHint: vedette.Operators.read('ops.py') reads a file"),
        (_named("p"), "not as list\nHint: vedette.Operators(one, other) makes them of single ones"),
        (*_named("p"), "not as Operator\nHint: vedette.Operators(one, other) makes them of single ones"),
    ],
)
def test_operators_that_are_handed_in_as_something_else(given: Any, said: str) -> None:
    filters = Subscriptions()
    for make in (lambda: OperatorMatcher(filters, given), lambda: StreamMatcher(filters, operators=given)):
        with pytest.raises(InputError) as raised:
            make()
        assert str(raised.value) == f"operators are handed in as Operators, {said}"


def test_several_operators_are_handed_in_one_by_one() -> None:
    with pytest.raises(InputError, match=r"Operators\(\*several\)"):
        Operators(_named("p"))  # type: ignore[arg-type]


def test_declaring_is_enough() -> None:
    @operator
    def declared(event: Any) -> bool:
        return True

    assert Operators(declared)["declared"] is declared
