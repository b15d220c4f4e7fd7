# acp-console: `make help` lists what there is.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
INTEROP := .interop
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help run test long install install-dev format check pytest interop fuzz kills failover mutants bench schema recordings docs pictures lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: install ## set up and start the console with the embedded demo agent
	@$(BIN)/acp-console

# Types are checked by one process, which leaves a core to the tests.
test: install-dev ## set up with the development tools; run the checks and the tests
	@$(MAKE) --no-print-directory --jobs=2 check pytest

install: $(STAMPS)/install ## set up .venv with the pinned dependencies

install-dev: $(STAMPS)/install-dev ## the same with the development tools

check: install-dev ## formatting, lint, types, and the direction of imports
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-logo >$(STAMPS)/lint-imports.txt || { cat $(STAMPS)/lint-imports.txt; exit 1; }

pytest: install-dev ## the tests alone, but for the long ones
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -q -m "not long"

long: install-dev ## the long tests: screens, conformance, kills, faults, fuzzing
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -q -m long

interop: install-dev $(INTEROP)/installed ## try everything against other people's programs from npm
	@ACP_INTEROP=$(INTEROP) $(BIN)/pytest -q tests/interop

EXAMPLES ?= 5000
# Some tests wait for processes; each worker imports and collects all tests.
WORKERS ?= $(shell $(BIN)/python -c 'import os; print(len(os.sched_getaffinity(0)) + 1)')

kills: install-dev ## kill the proxy at many more moments: make kills KILLS=500
	@KILLS=$(or $(KILLS),500) $(BIN)/pytest -q tests/faults/test_kills.py

failover: install-dev ## kill agents behind nginx for longer: make failover SECONDS=60
	@FAILOVER_S=$(or $(SECONDS),60) $(BIN)/pytest -q tests/agent/test_failover.py

fuzz: install-dev ## try the properties with more input: make fuzz EXAMPLES=5000
	@FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n auto -q tests/fuzz tests/protocol/schema tests/inspector/conformance tests/inspector/compare/test_mutations.py tests/inspector/replay/test_agent_verdict.py

mutants: install-dev ## change code at random; tests must fail: make mutants SEED=2
	@$(BIN)/python -m tools.mutants --seed $(or $(SEED),1)

format: install-dev ## format the sources and mend what can be mended
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix --quiet .

bench: install-dev ## measure, as ratios against the floor of this machine
	@$(BIN)/python -m benchmarks

schema: install-dev ## remake the types of the schemas: make schema SCHEMAS=DIR
	@$(BIN)/python tools/make_schema.py --schemas $(SCHEMAS)

recordings: install-dev ## make the recordings anew with our own agent
	@$(BIN)/python -m tools.make_recordings

docs: install-dev ## make the pages of the docs that the code knows best anew
	@$(BIN)/python -m tools.make_docs

pictures: install-dev ## make the pictures of the docs anew
	@$(BIN)/python -m tools.make_pictures
	@$(BIN)/python -m tools.make_film

LOCK := $(BIN)/python -m piptools compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe \
	--no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options

lock: install-dev ## pin the dependencies anew
	@$(LOCK) --output-file requirements.txt pyproject.toml
	@$(LOCK) --output-file requirements-build.txt requirements-build.in
	@$(LOCK) --output-file requirements-dev.txt requirements-dev.in

clean: ## remove what was made here
	@rm -rf $(VENV) $(INTEROP) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@"$(or $(PYTHON),python3)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "acp-console needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make environments; install its venv package (python3-venv)" >&2; exit 1; }
	@echo "setting up $(VENV) with $$("$(PYTHON)" --version)" >&2
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(STAMPS)/install: requirements.txt requirements-build.txt pyproject.toml | $(BIN)/python
	@mkdir -p $(STAMPS)
	@$(PIP) install --require-hashes -r requirements.txt
	@$(PIP) install --require-hashes -r requirements-build.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMPS)/install-dev: requirements-dev.txt $(STAMPS)/install
	@$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@

$(INTEROP)/installed: tests/interop/node/package.json tests/interop/node/package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null || \
		{ echo "make interop needs Node.js 20 or newer, and its npm, on the PATH" >&2; exit 1; }
	@echo "installing what is tried against into $(INTEROP)" >&2
	@mkdir -p $(INTEROP)
	@cp $^ $(INTEROP)
	@npm ci --prefix $(INTEROP) --ignore-scripts --no-audit --no-fund --loglevel=error || \
		{ echo "npm could not install what $(INTEROP)/package.json names; make interop tries again" >&2; exit 1; }
	@touch $@
