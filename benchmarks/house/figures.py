"""All figures of a checkout, by name, and what lies behind those that should become smaller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.house import changes, nodes
from benchmarks.house.functions import complexity, length
from benchmarks.house.imports import cycles, folder_cycles, longest_chain, read_imports
from benchmarks.house.source import Module, read_package

COMPLEX = 20  # complexity of a function, at most
LONG = 60  # lines of a function, at most


@dataclass(frozen=True)
class House:
    """What was counted."""

    figures: dict[str, float]
    details: dict[str, list[str]]  # under a heading what is to be mended


def read_house(root: Path) -> House:
    """Read and count; nothing of the checkout is imported."""
    modules = read_package(root)
    figures: dict[str, float] = {}
    details: dict[str, list[str]] = {}
    for part in (_sizes, _corridors, _names, _rooms, _language):
        counted, behind = part(modules)
        figures |= counted
        details |= behind
    for change, files in changes.CHANGES.items():
        if not changes.missing(root):
            figures[f"files that {change} touches"] = len(files)
    map_ = root / "ARCHITECTURE.md"
    if map_.exists():
        figures["words of ARCHITECTURE.md"] = len(map_.read_text(encoding="utf-8").split())
    return House(figures, details)


_Part = tuple[dict[str, float], dict[str, list[str]]]


def _sizes(modules: Sequence[Module]) -> _Part:
    lines = sorted(module.lines for module in modules)
    return {
        "modules": len(modules),
        "lines": sum(lines),
        "code lines": sum(module.code_lines for module in modules),
        "lines of a module, median": round(median(lines)),
        "lines of a module, 90th percentile": lines[min(len(lines) - 1, len(lines) * 9 // 10)],
        "lines of a module, most": lines[-1],
    }, {}


def _corridors(modules: Sequence[Module]) -> _Part:
    imports = read_imports(modules)
    chain = longest_chain(imports.at_any_time)
    circles = cycles(imports.at_any_time)
    folders = [module.name for module in modules if module.is_folder]
    within = [each for folder in folders for each in folder_cycles(imports.at_any_time, modules, folder)]
    return {
        "longest chain of imports": len(chain),
        "longest chain of imports when loaded": len(longest_chain(imports.at_load)),
        "cycles of modules": len(circles),
        "cycles of folders": len(within),
    }, {
        "The longest chain of imports": chain,
        "Cycles of modules": [" = ".join(each) for each in circles],
        "Cycles of folders": [" = ".join(each) for each in within],
    }


def _names(modules: Sequence[Module]) -> _Part:
    classes = Counter(node.name for module in modules for node in module.classes())
    files = Counter(module.path.name for module in modules if not module.is_folder)
    return {
        "class names of more than one class": sum(count > 1 for count in classes.values()),
        "class names of more than two classes": sum(count > 2 for count in classes.values()),
        "modules that share a file name": sum(count for count in files.values() if count > 1),
    }, {
        "Class names of more than two classes": [
            f"{name}: {count}"
            for name, count in sorted(classes.items(), key=lambda item: (-item[1], item[0]))
            if count > 2
        ],
    }


def _rooms(modules: Sequence[Module]) -> _Part:
    functions = [(module, node) for module in modules for node in module.functions()]
    hard = [(module, node, complexity(node)) for module, node in functions]
    hard = [each for each in hard if each[2] > COMPLEX]
    long = [(module, node) for module, node in functions if length(node) > LONG]
    typed = sum(node.returns is not None for _, node in functions)
    questions = [
        f"{module.name}: {text.splitlines()[0]}"
        for module in modules
        for text in module.docstrings()
        if text.splitlines()[0].rstrip().endswith("?")
    ]
    outside = _largest((f"{module.name}.{node.name}", count) for module, node, count in hard if not module.is_kernel)
    return {
        "functions": len(functions),
        f"functions with a complexity over {COMPLEX}, outside kernels": len(outside),
        f"functions with a complexity over {COMPLEX}, in kernels": len(hard) - len(outside),
        f"functions of more than {LONG} lines": len(long),
        "functions with a return type, %": round(100 * typed / len(functions), 1) if functions else 100,
        "docstrings that begin with a question": len(questions),
    }, {
        f"Functions with a complexity over {COMPLEX}, outside kernels": outside,
        f"Functions of more than {LONG} lines": _largest(
            (f"{module.name}.{node.name}", length(node)) for module, node in long
        ),
        "Docstrings that begin with a question": questions,
    }


def _largest(found: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{name}: {count}" for name, count in sorted(found, key=lambda each: (-each[1], each[0]))]


def _language(modules: Sequence[Module]) -> _Part:
    told_apart, named = nodes.dispatching(modules), nodes.naming(modules)
    if not any(named.values()):
        return {}, {}
    return {
        "modules that dispatch on `Range`": len(told_apart["Range"]),
        "modules that dispatch on a test, the most": max(map(len, told_apart.values())),
        "modules that name `Near`": len(named["Near"]),
    }, {
        "Modules that dispatch on a test, and that name it": [
            f"{test}: {len(told_apart[test])}, {len(named[test])}" for test in nodes.TESTS
        ],
        "Modules that dispatch on `Range`": told_apart["Range"],
    }
