"""Spark is spoken to by its public interface: Connect and managed platforms have nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import vedette

SOURCE = Path(vedette.__file__).parent
JAVA = {"_jvm", "_jsc", "_jsparkSession", "_jdf", "_jo", "_jreader", "_jwrite", "_jconf"}
# What these do has no public way on a classic session: the file systems of Hadoop, and transactions over JDBC.
STILL = {"spark/pipeline/sinks/hadoop.py", "spark/pipeline/sinks/database.py"}


def test_only_two_modules_reach_for_java() -> None:
    reaching = set()
    for path in SOURCE.rglob("*.py"):
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # as getattr asks for it
                names.add(node.value)
        if names & JAVA:
            reaching.add(path.relative_to(SOURCE).as_posix())
    assert reaching == STILL
