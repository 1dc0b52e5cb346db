# Everything runs in a virtual environment that the Makefile builds from the lock file.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# What `make quick` runs: some of every package, where tests take little for what they cover.
QUICK  := tests/networks tests/numerics tests/reading/test_hostile.py tests/datasets/test_datasets.py tests/datasets/test_tables.py \
  tests/rows/test_journal.py tests/rows/test_fuzz.py tests/objectives/test_host.py tests/solvers/test_loop.py \
  tests/solvers/test_projection.py tests/certificates/test_unit_scale.py tests/certificates/test_local_convergence.py \
  tests/certificates/test_matrix_uniqueness.py tests/certificates/test_teacher_distance.py tests/methods/test_auto.py \
  tests/methods/test_interpolate.py tests/methods/test_orient.py \
  tests/estimators/test_arguments.py tests/estimators/test_frames.py tests/estimators/test_compilations.py \
  tests/cli/test_cli_predict.py tests/cli/test_cli_read.py tests/cli/test_cli_tables.py \
  tests/reproduce/test_studies_run_the_library.py \
  tests/errata/test_errata_soltanolkotabi2017.py \
  src/planted/networks src/planted/numerics src/planted/activations src/planted/cli src/planted/datasets

.DEFAULT_GOAL := help
.PHONY: help demo test quick slow coverage check format bench lock clean browser gallery part joined docs animation

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

quick: $(STAMP)  ## run a part of the tests in a minute, for the loop while developing
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(QUICK)

slow: $(STAMP)   ## run the slow tests: faults of a cluster, every scikit-learn check of the default, larger recoveries
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

coverage: $(STAMP) browser ## run the tests and print the share of lines that they run, a line a file
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --cov=planted --cov-report=term

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

gallery: $(STAMP) ## run every figure of the papers (up to two hours; goes on where it stopped) into results/ and docs/
	$(BIN)/planted reproduce --all --full --jobs 2 --out results --gallery --markdown docs

part: $(STAMP)   ## run one figure or one paper into results/, as in make part ENTRY=ge2017/fig1; make joined puts parts together
	$(BIN)/planted reproduce $(ENTRY) --full --jobs 2 --out results

joined: $(STAMP) ## put the figures that are whole in results/ together into the gallery, computing nothing
	$(BIN)/planted reproduce --all --full --stored --out results --gallery --markdown docs

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
