.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= $(shell $(PYTHON) -c "import os; print(min(8, os.cpu_count() or 1))")

.PHONY: help setup reproduce test bounds lint bench serve docs-check docs site package screenshots release-check format lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml clients/python/pyproject.toml
	$(PYTHON) -c "import sys; sys.exit('elsv needs Python 3.11 or newer, got ' + sys.version.split()[0]) if sys.version_info < (3, 11) else None"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e . -e clients/python
	touch $(READY)

setup: $(READY) ## Create .venv with the locked dependencies

test: $(READY) ## Run all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

bounds: $(READY) ## Run the small tests of compiled code with bounds checks on
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds $(BIN)/python -m pytest -q -n $(WORKERS) \
	  tests/test_lookahead.py tests/test_lattice.py tests/test_beliefs.py tests/test_open_house.py tests/test_doors.py

reproduce: $(READY) ## Reproduce the paper's figures and claims into out/report.html
	$(BIN)/elsv reproduce --out out

serve: $(READY) ## Serve an example campaign at http://127.0.0.1:8763
	mkdir -p out
	$(BIN)/elsv campaign status out/shop.db spring > out/spring.txt 2> out/spring.txt || \
	  $(BIN)/elsv campaign new out/shop.db spring examples/discounts.toml --window "7 days" --unit EUR
	$(BIN)/elsv serve --db out/shop.db

$(VENV)/.bench: $(READY) requirements-bench.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.lock
	touch $(VENV)/.bench

bench: $(VENV)/.bench ## Measure speed and memory against the targets, and other libraries beside them
	$(BIN)/python -m benchmarks --out out/bench.json

docs-check: $(READY) ## Run every example of README and docs, check links and the generated pages
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_site.py

docs: $(READY) ## Write the generated pages and figures anew (docs/cli.md, docs/figures)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/figures.py

$(VENV)/.site: $(READY) requirements-site.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-site.lock
	touch $(VENV)/.site

site: $(VENV)/.site ## Build the documentation as a site into site/ and check it; needs no network to be read
	rm -rf site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	$(BIN)/python tools/site_check.py site
	$(BIN)/python -m pytest -q tests/test_site.py

package: $(READY) ## Build wheel and sdist into dist/ and try them in a bare environment
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m build --no-isolation --outdir dist/client clients/python
	$(BIN)/python tools/try_package.py dist

screenshots: $(READY) ## Take pictures of the service's pages in every state into out/screenshots
	$(BIN)/python -m tools.screenshots

release-check: ## Say what is missing for an upload
	$(PYTHON) tools/release_check.py

lint: $(READY) ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## Rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## Choose the newest versions anew and write the requirements*.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --group dev \
	  --no-emit-index-url --no-emit-package elsv-client --no-annotate --custom-compile-command "make lock" pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --group dev --group bench \
	  --constraint requirements.lock --no-emit-index-url --no-emit-package elsv-client --no-annotate --custom-compile-command "make lock" \
	  pyproject.toml -o requirements-bench.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --group dev --group site \
	  --constraint requirements.lock --no-emit-index-url --no-emit-package elsv-client --no-annotate --custom-compile-command "make lock" \
	  pyproject.toml -o requirements-site.lock

clean: ## Remove .venv, caches and everything built
	rm -rf $(VENV) out build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
