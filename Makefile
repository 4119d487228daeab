# Every target does its own set-up; the second time the stamp makes that quick.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done

.PHONY: setup demo test test-all lint bench clean FORCE
.DEFAULT_GOAL := setup

setup: $(STAMP)

# TORCH=... on the command line asks for another torch, so the stamp says nothing then.
$(STAMP): pyproject.toml constraints.txt tools/setup.sh $(if $(TORCH),FORCE)
	TORCH='$(TORCH)' tools/setup.sh
	touch $@

demo: setup
	$(BIN)/octavo demo --out out/demo

test: setup
	$(BIN)/python -m pytest -m "not slow"

test-all: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src $(wildcard bench)

bench: setup
	set -e; for script in $(sort $(wildcard bench/*.py)); do echo "== $$script"; $(BIN)/python $$script --quick; done

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
