# Everything runs in a virtual environment that the Makefile builds from the lock file.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test slow check format bench lock clean browser gallery docs animation

help:            ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 10

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "planted needs Python 3.11 or newer; set PYTHON=..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)   ## recover a planted network, with a progress bar and a plot
	$(BIN)/planted demo

test: $(STAMP) browser ## run the tests, but for the slow ones
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

slow: $(STAMP)   ## run the slow tests: faults of a cluster, every scikit-learn check of the default, larger recoveries
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

check: $(STAMP)  ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir .site

format: $(STAMP) ## put the code into the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

browser:         ## install Chromium for the tests of pages, where Debian's packages can be installed
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  { apt-get install -y -qq chromium chromium-driver || { apt-get update -qq && \
	    apt-get install -y -qq chromium chromium-driver; }; } >/dev/null 2>&1; } || \
	  echo "no Chromium and no way to install it here: the tests of pages in a browser are left out"

gallery: $(STAMP) ## run every figure of the papers (up to two hours) into results/ and docs/
	$(BIN)/planted reproduce --all --full --jobs 2 --out results --gallery --markdown docs

animation: $(STAMP) browser ## record the animation of the README from the explorer
	$(BIN)/python tests/record_explorer.py docs/images/explore.gif

docs: $(STAMP)   ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(STAMP)  ## run the benchmarks (minutes)
	$(BIN)/python -m pytest benchmarks/bench_*.py -s -o addopts=-q

lock: $(STAMP)   ## resolve the dependencies anew into requirements.lock
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --strip-extras --extra dev --no-emit-index-url --no-emit-find-links \
	  --no-emit-trusted-host --no-header --output-file requirements.lock pyproject.toml

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) site .site .pytest_cache .ruff_cache .mypy_cache
