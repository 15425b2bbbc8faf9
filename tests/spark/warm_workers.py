"""The process that Spark forks its Python workers from, with all that they import and compile there already.

A plain one has imported nothing, so that every worker spends two seconds on that. What workers do is otherwise the
same; those of pipelines in processes of their own, and of clusters, are plain ones.
"""

from __future__ import annotations

import pandas as pd  # noqa: F401
from pyspark import daemon, worker  # noqa: F401

from tests.warm_kernels import compile_all

if __name__ == "__main__":
    compile_all()
    daemon.manager()
