"""`vedette bench` and `vedette experiment`: launchers of what only a checkout has."""

from __future__ import annotations

from pathlib import Path

import pytest

import vedette as package
from tests.cli.session import vedette
from vedette.cli.checkout import launch

SHOWN = "import pathlib, sys\npathlib.Path(__file__).with_name('seen').write_text(' '.join(sys.argv[1:]))\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As if the package were installed far from any checkout; the current folder."""
    monkeypatch.setattr(package, "__file__", str(tmp_path / "lib" / "python" / "vedette" / "__init__.py"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def checkout(installed: Path) -> Path:
    """The current folder is a checkout."""
    (installed / "pyproject.toml").touch()
    for name in ("benchmarks", "experiments"):
        (installed / name).mkdir()
        (installed / name / "__init__.py").touch()
    (installed / "benchmarks" / "__main__.py").write_text(f"{SHOWN}sys.exit(3)\n")
    (installed / "experiments" / "muthusamy2010.py").write_text(SHOWN)
    return installed


@pytest.mark.parametrize("command", [("bench",), ("experiment", "aguilera1999"), ("experiment",)])
@pytest.mark.usefixtures("installed")
def test_without_a_checkout(command: tuple[str, ...]) -> None:
    result = vedette(*command)
    assert result.exit_code == 1
    assert "are not part of the installed package" in result.stderr
    assert "clone the repository" in result.stderr


def test_bench_hands_on_arguments_and_exit_status(checkout: Path) -> None:
    assert vedette("bench", "--quick", "--sizes", "1e3", "--help").exit_code == 3
    assert (checkout / "benchmarks" / "seen").read_text() == "--quick --sizes 1e3 --help"


def test_experiments_are_listed_and_run(checkout: Path) -> None:
    assert vedette("experiment").stdout == "muthusamy2010\n"
    assert vedette("experiment", "muthusamy2010", "--quick", "-o", "figures").exit_code == 0
    assert (checkout / "experiments" / "seen").read_text() == f"{checkout / 'figures'} --quick"


def test_all_experiments_are_the_package(checkout: Path) -> None:
    (checkout / "experiments" / "__main__.py").write_text(SHOWN)
    assert vedette("experiment").stdout == "muthusamy2010\n"
    assert vedette("experiment", "all", "-o", "figures").exit_code == 0
    assert (checkout / "experiments" / "seen").read_text() == str(checkout / "figures")


@pytest.mark.usefixtures("checkout")
def test_an_unknown_experiment_is_wrong_usage() -> None:
    result = vedette("experiment", "nobody1900")
    assert result.exit_code == 2
    assert "muthusamy2010" in result.stderr


def test_an_interruption_waits_for_the_launched(tmp_path: Path) -> None:
    (tmp_path / "interrupting.py").write_text(
        "import os, pathlib, signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "time.sleep(0.3)\n"
        "pathlib.Path('finished').touch()\n"
    )
    with pytest.raises(KeyboardInterrupt):
        launch(tmp_path, "interrupting", [])
    assert (tmp_path / "finished").exists()
