"""The four commonest changes, and the files of the package that each one touches; stated by hand, checked to exist.

Each is stated as the files of something that is there already: the test `near`, the operators of texts, the webhook,
the tree. Tests and documentation come on top.
"""

from __future__ import annotations

from pathlib import Path

CHANGES: dict[str, tuple[str, ...]] = {
    "a test of the language": (
        "src/vedette/language/lexer.py",
        "src/vedette/language/filters.py",
        "src/vedette/language/ast.py",
        "src/vedette/language/test_nodes/near.py",
        "src/vedette/filters/probes/geometry.py",
        "src/vedette/filters/probes/value_tests.py",
    ),
    "an operator": (
        "src/vedette/operators/shipped/text.py",
        "pyproject.toml",
    ),
    "a sink": (
        "src/vedette/spark/pipeline/sinks/webhook.py",
        "src/vedette/spark/pipeline/sink_config.py",
        "pyproject.toml",
    ),
    "an index": (
        "src/vedette/filters/tree/index.py",
        "src/vedette/filters/tree/kernels/tree.py",
        "pyproject.toml",
    ),
}


def missing(root: Path) -> list[str]:
    """Files of the table that are not in the checkout."""
    return [file for files in CHANGES.values() for file in files if not (root / file).is_file()]
