# make demo   sets itself up in .venv, then opens the UI over simulated GPUs and servers
# make test   sets itself up in .venv, then runs every check of the project
# make soak   every step of a start and a stop hit by every fault, hundreds of launches with random kills, logs rotated under them
# make test-real   runs the product against real SGLang servers on the CPU; needs 6 GB, see README.md
.DEFAULT_GOAL := help
.PHONY: help demo test lint types layers pytest coverage soak test-real screenshots bench clean

VENV := .venv
BIN := $(VENV)/bin
# The first Python that is new enough; PYTHON=... on the command line wins.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
CONSTRAINTS := tests/constraints.txt
# More than a machine of two cores has: a test of processes mostly waits for them.
PYTEST_FLAGS ?= -n 3 --dist worksteal
REAL_FLAGS ?=
SOAK_FLAGS ?=

help:
	@sed -n 's/^# make /make /p' Makefile

demo: $(VENV)/.installed
	$(BIN)/sgltui demo

test: lint types layers pytest

lint: $(VENV)/.tested
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

layers: $(VENV)/.tested
	$(BIN)/lint-imports --no-cache

pytest: $(VENV)/.tested
	$(BIN)/pytest $(PYTEST_FLAGS)

# The same tests, also measured in every process they start, which takes half as long again.
coverage: $(VENV)/.tested
	$(BIN)/pytest $(PYTEST_FLAGS) --cov --cov-report=term:skip-covered

# The whole fault matrix, hundreds of launches and stops with random kills: some 15 minutes on two cores.
soak: $(VENV)/.tested
	SGLTUI_TEST_SOAK=1 $(BIN)/pytest $(PYTEST_FLAGS) tests/process/test_adopt.py tests/process/test_cycles.py \
		tests/process/test_fault_matrix.py tests/process/test_rotation.py tests/process/test_simulator_switches.py $(SOAK_FLAGS)

# One server at a time, in the given order: a random one would make the environments in turn.
test-real: $(VENV)/.tested
	SGLTUI_TEST_REAL=1 $(BIN)/pytest -m real tests/real -n 0 -p no:randomly $(REAL_FLAGS)

screenshots: $(VENV)/.tested
	$(BIN)/python screenshots/make.py

bench: $(VENV)/.installed
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/plan.py
	$(BIN)/python bench/editor.py
	$(BIN)/python bench/lint.py
	$(BIN)/python bench/explain.py
	$(BIN)/python bench/rotation.py
	$(BIN)/python bench/logs.py
	$(BIN)/python bench/life.py
	$(BIN)/python bench/screen.py
	$(BIN)/python bench/screen_hours.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage .import_linter_cache .hypothesis

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: apt install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "the venv module is missing: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e .
	@touch $@

# Brings what .installed brings, too: who tests needn't install twice.
$(VENV)/.tested: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e '.[test]'
	@$(BIN)/python -m compileall -q tui tests/support  # or each process that runs tests compiles all of it
	@touch $(VENV)/.installed $@
