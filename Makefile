# Two commands matter: `make demo` and `make test`. Both set everything up first, with Python 3.11 or later alone.
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11 python,\
            $(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print("$(name)")' 2>/dev/null)))
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Python keeps its bytecode, whatever the environment says: a test run starts hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=
# Processes that run tests, each with a Spark of its own, which takes 2 GB.
WORKERS ?= 2

.PHONY: demo check figures interpreted modules test test-connectors test-kafka test-kills test-sparks test-tables test-thorough bench bench-peers bench-service bench-spark experiments lint maven quick-java setup clean torture \
        warm-kernels warm-numbers warm-texts

demo: $(VENV)/.demo-installed
	@$(BIN)/vedette demo

test: setup
	@$(MAKE) --no-print-directory -j 3 -O quick-java warm-kernels lint interpreted
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Tests of kernels once more, not compiled. Only their files are read: to read all takes as long as to run these.
interpreted: setup
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -p no:cacheprovider -m interpreted \
	  $$(grep -rl --include='test_*.py' 'mark\.interpreted' tests)

# What can be known in three minutes: style, types, layers, and the tests that need no Spark, service or browser.
check: setup
	@$(MAKE) --no-print-directory -j 3 -O warm-kernels lint
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not spark and not service and not browser" \
	  --ignore=tests/spark --ignore=tests/service --ignore=tests/browser

# The page of figures about the source, docs/contributing/figures.md; TIME="check test" measures those two before.
figures: setup
	@$(BIN)/python -m benchmarks.house $(addprefix --time ,$(TIME))

# The list of all modules, docs/contributing/modules.md, from their docstrings: after one was added, moved or described.
modules: setup
	@$(BIN)/python -m benchmarks.house.modules

# What `make test` leaves out because other tests prove it more quickly: more kinds of files, more seeds, more jobs; and
# ten times as many examples of every property.
test-thorough: setup quick-java
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m thorough
	@EXAMPLES=400 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "hypothesis and not spark"

# Pipelines are killed nearly fifty times, at random moments; `make test` does so a few times.
test-kills: setup quick-java
	@VEDETTE_ALL_KILLS=1 $(BIN)/python -m pytest -n 2 -m "thorough or not thorough" tests/spark/pipeline/test_kills*.py

# With a Kafka broker, and with PostgreSQL and Delta tables. Maven fetches the broker and the connectors.
test-connectors: setup maven quick-java
	@$(BIN)/python -m pytest -rs -n 2 --dist loadfile tests/connectors/test_*.py

test-kafka: setup maven quick-java
	@$(BIN)/python -m pytest tests/connectors/test_kafka.py

test-tables: setup maven quick-java
	@$(BIN)/python -m pytest -rs tests/connectors/test_postgresql.py tests/connectors/test_delta.py

# The contract of the engine on every Spark that it runs on, classic and Connect: an environment of its own for each.
test-sparks: setup quick-java
	@$(BIN)/python -m tests.sparks $(SPARKS)

# Tests start Spark again and again: this shortens every start. Its workers need kernels, which are compiled before.
quick-java: setup warm-numbers
	@$(BIN)/python -m tests.quick_java

# Compiled once, and not by every process that runs tests.
warm-kernels: warm-numbers warm-texts

warm-numbers warm-texts: warm-%: setup
	@$(BIN)/python -m tests.warm_kernels $*

maven:
	@command -v mvn >/dev/null || { echo "Maven (mvn) is needed: it fetches the jars that these tests use" >&2; exit 1; }

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup
	@$(BIN)/python -m benchmarks

# Every figure of the papers measured anew, and one report of them: experiment-output/experiments.html.
# QUICK=1 for small sizes, which show that it works; docs/experiments.html is the report of the last full run.
experiments: setup
	@$(BIN)/python -m experiments experiment-output $(if $(QUICK),--quick)

# Beside other engines, whose drivers Maven, go and cargo fetch and build; those that cannot be had are named.
# `make bench-peers ARGS=--docs` writes docs/benchmarks.md, too.
bench-peers: $(VENV)/.peers-installed
	@$(BIN)/python -m benchmarks.peers $(ARGS)

$(VENV)/.peers-installed: pyproject.toml | setup
	@$(PIP) -e '.[peers]'
	@touch $@

bench-spark: setup
	@$(BIN)/python -m benchmarks.spark

# Durable events a second, latency, and many readers, of a real process over loopback.
bench-service: setup
	@$(BIN)/python -m benchmarks.service

# Transactions of the service fail one by one; it is killed a hundred times while it is published to, the power goes a
# hundred times, the disk is full; somebody unknown abuses it over raw sockets; bits are flipped in whatever is stored.
torture: setup
	@$(BIN)/python -m benchmarks.service.failed_transactions --rounds 500
	@$(BIN)/python -m benchmarks.service.torture --kills 100
	@$(BIN)/python -m benchmarks.service.power_cut --cuts 100
	@$(BIN)/python -m benchmarks.service.full_disk
	@$(BIN)/python -m benchmarks.service.raw_sockets
	@$(BIN)/python -m benchmarks.service.planted
	@$(BIN)/python -m benchmarks.service.endless
	@$(BIN)/python -m benchmarks.damage --flips 10000 --database 200

setup: $(VENV)/.installed

# All that tests, benchmarks and experiments need, which includes what the demo needs.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing Vedette and what its tests need into $(VENV) ..."
	@$(PIP) -e '.[dev]'
	@touch $(VENV)/.demo-installed $@

$(VENV)/.demo-installed: pyproject.toml | $(BIN)/python
	@echo "Installing Vedette and what the demo needs into $(VENV) ..."
	@$(PIP) -e '.[demo]'
	@$(BIN)/python -c 'from vedette.spark.java import find_java; find_java()' 2>/dev/null || { \
	  echo "There is no Java 17 or later here, which Spark needs: installing one as a Python package ..."; $(PIP) -e '.[java]'; }
	@touch $@

# What is left of a failed attempt has a Python but no pip, and goes away again.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; name it: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
	  echo "$(PYTHON) cannot make virtual environments (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .cache demo-output experiment-output
