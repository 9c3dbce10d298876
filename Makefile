# Everything a developer does, one verb each. Every verb first makes what it needs: a local .venv from the pinned lock.
#
#   make setup      the environment, and .venv/bin/evenmatch in it      make check     lint, format, types
#   make serve      the server (ARGS="--port 9000")                     make test      check, then the quick tests
#   make bench      the benchmarks                                      make test-all  check, then every test
#   make demo       the server with a simulated crowd, to look at
#   make lock       (maintainers) pin anew what pyproject.toml asks for

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := setup
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARGS ?=
# Four test files at a time, on two cores: much of a test's time is a server that starts or waits.
SIDE_BY_SIDE := --numprocesses 4 --dist loadfile

# Settings of the user's own pip that would put packages elsewhere, or ask questions, must not reach ours.
# Mirrors, proxies and certificates may: the hashes of the lock say what is let in, wherever it comes from.
PIP := env -u PYTHONPATH -u PYTHONHOME PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
	PIP_ROOT_USER_ACTION=ignore $(BIN)/python -m pip --quiet

.PHONY: setup serve demo browser test test-all check bench lock

setup: $(READY)

$(READY): pyproject.toml requirements.lock
	@python=""; \
	for each in python3 python3.13 python3.12 python3.11; do \
	    if command -v $$each >/dev/null && $$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then python=$$each; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "evenmatch needs Python 3.11 or newer; none of python3, python3.13, python3.12, python3.11 is." >&2; exit 1; \
	fi; \
	if ! $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    if ! $$python -c 'import ensurepip, venv' 2>/dev/null; then \
	        version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	        echo "setup: $$python cannot make an environment with pip in it: python$$version-venv is missing"; \
	        if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	            echo "Install it and try again:  sudo apt-get install python3-venv python$$version-venv" >&2; exit 1; \
	        fi; \
	        echo "setup: installing python$$version-venv"; \
	        apt-get -qq update || true; \
	        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python$$version-venv >/dev/null; \
	    fi; \
	    echo "setup: making $(VENV) with $$($$python --version)"; \
	    rm -rf $(VENV); $$python -m venv $(VENV); \
	fi
	@echo "setup: installing the packages of requirements.lock"
	@$(PIP) install --require-hashes --only-binary :all: -r requirements.lock
	@echo "setup: installing evenmatch itself"
	@$(PIP) install --no-deps --no-build-isolation -e .
	@echo "setup: compiling the kernels"
	@$(BIN)/python -m evenmatch.warming
	@touch $(READY)
	@echo "setup: done; try $(BIN)/evenmatch --help"

serve: $(READY)
	@exec $(BIN)/evenmatch serve $(ARGS)

demo: $(READY)
	@exec $(BIN)/evenmatch demo $(ARGS)

check: $(READY)
	@echo "check: lint, format, types"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check || { $(BIN)/ruff format --check; exit 1; }
	@$(BIN)/mypy

# The dashboard is tried in Debian's Chromium; without one its tests say that they were not run.
browser: $(READY)
	@if ! command -v chromium >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "test: installing chromium, for the dashboard"; \
	    apt-get -qq update || true; \
	    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium >/dev/null || true; \
	fi
	@command -v chromium >/dev/null || echo "test: NOT RUN: the dashboard's tests, for there is no chromium (apt-get install chromium)"

test test-all: export PYTHONDONTWRITEBYTECODE =

test: check browser
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ARGS)

test-all: check browser
	@EVENMATCH_TESTS=thorough $(BIN)/python -m pytest $(SIDE_BY_SIDE) -m '' $(ARGS)

bench: $(READY)
	@$(BIN)/evenmatch bench matchers
	@$(BIN)/evenmatch bench waves
	@$(BIN)/evenmatch bench engine
	@$(BIN)/evenmatch bench service
	@$(BIN)/evenmatch bench restart
	@$(BIN)/evenmatch bench start
	@$(BIN)/evenmatch bench live
	@$(BIN)/evenmatch bench lab
	@$(BIN)/evenmatch bench cluster

lock: $(READY)
	@$(BIN)/python -m uv --version >/dev/null 2>&1 || $(PIP) install uv
	@$(BIN)/python -m uv --quiet pip compile pyproject.toml --extra dev --extra bench --extra build --extra lab --extra postgres --upgrade \
	    --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate --output-file requirements.lock
	@$(MAKE) setup
