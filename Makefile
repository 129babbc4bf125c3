# Every target sets up what it needs by itself: a .venv with exactly the locked packages.
# The environment is made anew only when requirements.lock or pyproject.toml has changed.

PYTHON ?= python3
VENV   := .venv
READY  := $(VENV)/.ready
BIN    := $(VENV)/bin
RELEASE := build/release
TRIALS := build/trials
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := forkguard tests benchmarks tools
COMMITTED = $$(git log -1 --format=%ct)

.DELETE_ON_ERROR:
.PHONY: help demo test test-real test-full test-pythons fuzz mutate coverage lint format bench docs man dist sbom audit lock clean

help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(READY) ## The whole loop on real llama.cpp sources (DEMO=--no-build: nothing compiled)
	@$(BIN)/forkguard demo $(DEMO)

test: $(READY) ## Everything but the slow kinds; no network
	@$(BIN)/pytest -n auto -m "not real and not full"

test-real: $(READY) ## On real llama.cpp sources (downloaded once, then cached)
	@$(BIN)/pytest -n auto -m "real and not full" tests/real

test-full: $(READY) ## Every test there is, however long
	@$(BIN)/pytest -n auto

fuzz: $(TRIALS)/.ready ## Bytes made by atheris for every parser, 20 s each; FUZZ="--seconds 300 mail patch" for some, longer
	@$(PIP) --python $(TRIALS)/bin/python install --no-deps --only-binary :all: $(ATHERIS) || { \
	  echo "There is no wheel of $(ATHERIS) for $$($(TRIALS)/bin/python -V): make PYTHON=python3.12 fuzz" >&2; exit 1; }
	@$(TRIALS)/bin/python -m tests.fuzz $(FUZZ)

mutate: $(READY) ## Do the tests notice faults put into core/? A sample of half an hour; MUTATE="--minutes 120 hunks replay"
	@$(BIN)/python -m tools.mutate $(MUTATE)

coverage: $(TRIALS)/.ready ## Which lines and branches of core/ the quick tests reach
	@$(TRIALS)/bin/coverage erase
	@$(TRIALS)/bin/coverage run -m pytest -q -n auto -m "not real and not full"
	@$(TRIALS)/bin/coverage combine --quiet
	@$(TRIALS)/bin/coverage report --skip-covered

lint: $(READY) ## ruff and mypy, strict
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy

format: $(READY) ## Lay the code out as lint wants it
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)

bench: $(READY) ## Ratios against git and other tools, beside the stored ones; BENCH="build gate" for those that build llama.cpp first
	@$(BIN)/python -m benchmarks $(BENCH)

docs: $(READY) ## The pages, in ./site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html is the first page"

man: $(READY) ## A man page for each command, in build/man
	@SOURCE_DATE_EPOCH=$(COMMITTED) $(BIN)/python -m tools.manpages build/man

dist: $(READY) ## Wheel and source archive in dist/, built twice and compared
	@rm -rf dist
	@$(BIN)/python -m tools.dist dist

sbom: dist $(RELEASE)/.ready ## What the wheel brings along, as CycloneDX: build/sbom.json
	@rm -rf build/sbom && $(PYTHON) -m venv --without-pip build/sbom
	@sed -n 's/^\([^ ].*\) \\$$/\1/p' requirements.lock > build/constraints.txt
	@$(PIP) --python build/sbom/bin/python install --constraint build/constraints.txt dist/*.whl
	@version=$$(basename dist/*.whl | cut -d- -f2) && \
	  sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml > build/pyproject.toml
	@$(RELEASE)/bin/cyclonedx-py environment build/sbom/bin/python --pyproject build/pyproject.toml --output-reproducible \
	  --output-file build/sbom.json
	@echo "build/sbom.json"

audit: $(RELEASE)/.ready ## Known weaknesses in the locked packages (asks a service on the network)
	@$(RELEASE)/bin/pip-audit --strict --require-hashes --disable-pip -r requirements.lock

test-pythons: dist ## The built wheel on every Python from 3.11 on that is here
	@$(BIN)/python -m tools.pythons dist/*.whl

ATHERIS := atheris==3.0.0
LOCKED := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet
lock: ## Choose package versions anew (needs uv)
	uv pip compile pyproject.toml --group dev --group docs --group build $(LOCKED) --upgrade -o requirements.lock
	uv pip compile --group pyproject.toml:release $(LOCKED) --upgrade -o requirements-release.lock
	uv pip compile --group pyproject.toml:trials $(LOCKED) --upgrade -c requirements.lock -o requirements-trials.lock

clean: ## Remove what the other targets made here
	rm -rf $(VENV) site build dist forkguard/_version.py *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(RELEASE)/.ready: requirements-release.lock
	@$(PYTHON) -m venv --clear $(RELEASE)
	@$(RELEASE)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-release.lock
	@touch $@

$(TRIALS)/.ready: requirements.lock requirements-trials.lock pyproject.toml | $(READY)
	@$(PYTHON) -m venv --clear $(TRIALS)
	@$(PIP) --python $(TRIALS)/bin/python install --require-hashes -r requirements.lock
	@$(PIP) --python $(TRIALS)/bin/python install --require-hashes -r requirements-trials.lock
	@$(PIP) --python $(TRIALS)/bin/python install --no-deps --no-build-isolation --editable .
	@touch $@

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "forkguard needs Python 3.11 or newer; $(PYTHON) is not. Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing: sudo apt install python3-venv" >&2; exit 1; }
	@echo "Setting up $(VENV) (half a minute, once)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --require-hashes -r requirements.lock || { \
	  echo "The locked packages are not to be had: is the package index reachable? pip config list  says which one is asked" >&2; \
	  exit 1; }
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
