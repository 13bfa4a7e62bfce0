# `make serve` and `make test` each do everything they need on a machine with nothing but Python 3.11 or newer.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

LOCI_HOME ?= $(HOME)/.loci
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
# Test runs keep what they need in the checkout and leave LOCI_HOME alone.
TEST_HOME := $(CURDIR)/.loci-test
# Tests write gigabytes: into memory where it has the room (and programs may run from there), else where temporary files go.
MEMORY_FREE_MB = $(shell df -m --output=avail /dev/shm 2>/dev/null | tail -1)
TEST_TMP = $(shell [ "$(MEMORY_FREE_MB)" -ge 4000 ] 2>/dev/null && ! grep -q ' /dev/shm .*noexec' /proc/mounts && echo /dev/shm)
TESTS ?= tests
ARGS ?=

# `make proof kills` and `make proof NAME=kills` are the same.
ifeq (proof,$(firstword $(MAKECMDGOALS)))
NAME = $(wordlist 2,99,$(MAKECMDGOALS))
$(eval $(filter-out serve test clients lint lock wheel clean help,$(wordlist 2,99,$(MAKECMDGOALS))):;@:)
endif

.PHONY: help serve test clients test-postgres test-newest lint lock wheel extra bundle extension proof bench recall-tables clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

serve: .venv/.installed-serve .own-loci ## install what is missing, then run Loci (Ctrl-C stops it)
	@LOCI_HOME="$(LOCI_HOME)" exec .venv/bin/loci up $(ARGS)

test: .venv/.installed-dev $(TEST_HOME)/.model-8-bit ## run the tests (TESTS=tests/test_x.py ARGS="-k word" for some)
	@export TMPDIR="$(or $(TMPDIR),$(TEST_TMP),/tmp)" LOCI_TEST_MODELS="$(TEST_HOME)/models"; exec $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder -q $(ARGS) $(TESTS)

lint: .venv/.installed-dev ## check style, types, settings and migrations
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@LOCI_HOME="$(TEST_HOME)/lint" $(PY) -m mypy storage guard access relations memories sources maintenance loci_site
	@LOCI_HOME="$(TEST_HOME)/lint" $(PY) manage.py check --fail-level WARNING
	@LOCI_HOME="$(TEST_HOME)/lint" $(PY) manage.py makemigrations --check --dry-run

# Directories whose tests ask the database more than they test pages; `make test` under LOCI_TEST_DB=postgres runs all.
POSTGRES_TESTS ?= tests/storage tests/access/audit tests/access/groups tests/access/tokens tests/relations tests/memories \
	tests/maintenance tests/sources/importing tests/sources/exporting tests/loci_site/api

# In an environment of its own: the packages in clients/ need libraries that Loci does not.
clients: .venv/.installed-serve $(TEST_HOME)/.model-8-bit .venv-clients/.installed ## check the packages in clients/ against a running server (TESTS=clients/python)
	@.venv-clients/bin/python -m mypy --config-file clients/mypy.ini clients/*/loci_team_memory_*
	@export TMPDIR="$(or $(TMPDIR),$(TEST_TMP),/tmp)" LOCI_TEST_MODELS="$(TEST_HOME)/models" LOCI_PYTHON="$(CURDIR)/$(PY)"; \
	exec .venv-clients/bin/python -m pytest -q -c clients/pytest.ini $(ARGS) $(if $(filter command line,$(origin TESTS)),$(TESTS),clients)

test-postgres: ## run the tests that ask the database on PostgreSQL (TESTS=tests for all)
	@LOCI_TEST_DB=postgres $(MAKE) test TESTS="$(if $(filter command line,$(origin TESTS)),$(TESTS),$(POSTGRES_TESTS))"

# In an environment of its own: .venv keeps the tested versions.
NEWEST := $(TEST_HOME)/newest
test-newest: .venv/.installed-dev $(TEST_HOME)/.model-8-bit .venv/bin/uv ## run the tests with the newest release of each library
	@$(PY) -m bench.scripts.newest "$(NEWEST)/requirements.txt"
	@.venv/bin/uv venv --quiet --clear --seed --python $(PY) "$(NEWEST)/venv"
	@.venv/bin/uv pip sync --quiet --python "$(NEWEST)/venv/bin/python" "$(NEWEST)/requirements.txt"
	@$(MAKE) test PY="$(NEWEST)/venv/bin/python"

proof: .venv/.installed-dev $(TEST_HOME)/.model-8-bit ## run the long proofs, or one: make proof NAME
	@LOCI_TEST_MODELS="$(TEST_HOME)/models" exec $(PY) -m bench.proof $(NAME) $(ARGS)

bench: .venv/.installed-dev $(TEST_HOME)/.model-8-bit ## measure speed (ARGS="--sizes 10k,100k --report docs/dev/speed.md")
	@LOCI_TEST_MODELS="$(TEST_HOME)/models" exec $(PY) -m bench.speed $(ARGS)

recall-tables: .venv/.installed-dev $(TEST_HOME)/.model-8-bit ## measure recall into docs/dev/recall.md (SETS="folder folder" ARGS="--split dev")
	@test -n "$(SETS)" || { echo 'Say which sets to measure: make recall-tables SETS="folder folder"' >&2; exit 1; }
	@LOCI_HOME="$(TEST_HOME)" $(PY) -m bench.evaluate $(SETS) $(ARGS) --write-docs docs/dev/recall.md

UV_COMPILE = .venv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header --quiet

lock: .venv/bin/uv ## write the lock files anew (ARGS=--upgrade takes newer versions)
	@$(UV_COMPILE) $(ARGS) pyproject.toml --output-file requirements.lock
	@$(UV_COMPILE) $(ARGS) pyproject.toml --constraint requirements.lock --group dev --output-file requirements-dev.lock
	@$(UV_COMPILE) $(ARGS) clients/requirements.in --output-file clients/requirements.lock

wheel: | .venv/bin/python ## build the package into dist/
	@$(PIP) wheel . --no-deps --quiet --wheel-dir dist
	@ls dist/*.whl

extra: .venv/.installed-serve ## install what an optional feature needs: make extra NAME=encryption (documents, oidc, postgresql)
	@names="$$($(PY) -m bench.scripts.extra "$(NAME)")"; echo "Installing" $$names; $(PIP) install --quiet $$names

bundle: | .venv/bin/python ## write loci.mcpb for desktop clients and server.json for the MCP registry into dist/mcp/
	@$(PY) -m bench.scripts.bundle

# `make proof extension` names a proof.
ifneq (proof,$(firstword $(MAKECMDGOALS)))
extension: | .venv/bin/python ## pack the browser extension for Chrome and Firefox into dist/extension/ (npm)
	@$(PY) -m bench.scripts.extension
endif

clean: ## remove everything made in this folder; your memories in LOCI_HOME stay
	@rm -rf .venv .venv-clients .loci-test .proof build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what the targets above stand on ---------------------------------------------------------------

.venv/bin/python:
	@python=""; for name in "$${PYTHON:-}" python3.13 python3.12 python3.11 python3 python; do \
		if [ -n "$$name" ] && "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
		then python="$$name"; break; fi; done; \
	if [ -z "$$python" ]; then \
		echo "Loci needs Python 3.11 or newer, and none was found. Install one, or say where: make PYTHON=/path/to/python3" >&2; exit 1; fi; \
	rm -rf .venv; echo "Making .venv with $$("$$python" --version)"; \
	if ! "$$python" -m venv .venv; then \
		rm -rf .venv; \
		echo "Python could not make a virtual environment. On Debian or Ubuntu: sudo apt-get install python3-venv" >&2; exit 1; fi

.venv/bin/uv: | .venv/bin/python
	@$(PIP) install --quiet uv

# What pip does, in one line of the terminal; its errors go to standard error.
SHOW_STEP = awk '/^(Collecting|Building|Installing)/ { printf "\r\033[K  %.70s", $$1 " " ($$1 == "Installing" ? "all of it" : $$2); fflush() } END { print "" }'

# A stamp is newer than the lock file it was installed from; a changed lock file installs again.
.venv/.installed-serve: requirements.lock | .venv/bin/python
	@if [ .venv/.installed-dev -nt requirements.lock ] && [ .venv/.installed-dev -nt requirements-dev.lock ]; then :; \
	else echo "Installing what Loci needs (once, about a minute)"; \
	PYTHONUNBUFFERED=1 $(PIP) install --progress-bar off --require-hashes -r requirements.lock | $(SHOW_STEP); fi
	@$(MAKE) --silent .venv/bin/loci
	@touch $@

# `pip install .` in .venv would put a second copy of Loci there, which no pull changes.
.PHONY: .own-loci
.own-loci: .venv/.installed-serve
	@if compgen -G '.venv/lib/python*/site-packages/loci_*memory-*.dist-info' >/dev/null; then \
		echo "Removing a second copy of Loci from .venv"; \
		$(PIP) uninstall --yes --quiet loci-team-memory loci-memory; rm -f .venv/bin/loci; fi
	@$(MAKE) --silent .venv/bin/loci

# The `loci` command of this folder, as an installed Loci has it. The shell reads the second line, Python takes it for a
# string: a shebang may hold neither spaces nor more than 127 characters.
define LOCI_SCRIPT
#!/bin/sh
'''exec' "$(CURDIR)/.venv/bin/python" "$$0" "$$@"
' '''
import sys
sys.path[0] = r"$(CURDIR)"
from loci_site.management.cli import main
main()
endef
export LOCI_SCRIPT

.venv/bin/loci: Makefile | .venv/bin/python
	@printf '%s\n' "$$LOCI_SCRIPT" > $@
	@chmod +x $@

.venv/.installed-dev: requirements-dev.lock | .venv/bin/python
	@echo "Installing what Loci and its tests need (once, about a minute)"
	@$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@$(MAKE) --silent .venv/bin/loci
	@touch $@

.venv-clients/.installed: clients/requirements.lock clients/python/pyproject.toml clients/anthropic-tool/pyproject.toml clients/langgraph-store/pyproject.toml | .venv/bin/python
	@echo "Installing what the packages in clients/ and their tests need (once, about a minute)"
	@$(PY) -m venv --clear .venv-clients
	@.venv-clients/bin/python -m pip --disable-pip-version-check --no-input install --quiet --require-hashes -r clients/requirements.lock
	@.venv-clients/bin/python -m pip --disable-pip-version-check --no-input install --quiet --no-deps --no-build-isolation \
		-e clients/python -e clients/anthropic-tool -e clients/langgraph-store
	@touch $@

# A sound model of the usual precision stays; another one, of an earlier checkout, is replaced.
$(TEST_HOME)/.model-8-bit: | .venv/.installed-dev
	@LOCI_HOME="$(TEST_HOME)/install" $(PY) manage.py model install --dest "$(TEST_HOME)/models"
	@touch $@
