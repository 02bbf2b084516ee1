# Every target builds what it needs: on a fresh machine `make demo` or `make test` is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-rllib lint bench reproduce clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.lab: pyproject.toml
	@echo "Setting up $(VENV) (once; about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --editable '.[lab]'
	@touch $@

$(VENV)/.dev: $(VENV)/.lab
	@echo "Adding what the tests need to $(VENV) (once; about two minutes)"
	@$(BIN)/pip install --quiet --editable '.[lab,dev]'
	@touch $@

demo: $(VENV)/.lab ## what unperturb does for you, in under a minute
	@$(BIN)/unperturb demo

test: lint ## lint, types, layers, and all tests
	$(BIN)/pytest -n 2

test-rllib: ## the RLlib example, in an environment of its own: Ray pins an older Gymnasium
	@test -x .venv-rllib/bin/python || $(PYTHON) -m venv .venv-rllib
	@.venv-rllib/bin/pip install --quiet --editable '.[rllib]' torch==2.13.0 pytest hypothesis
	.venv-rllib/bin/python -m pytest -p no:cacheprovider tests/test_examples.py tests/test_snippets.py -k rllib

lint: $(VENV)/.dev ## lint, format, types and the layers of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# rejax needs an older gymnax than ours, so it has an environment of its own.
.venv-rejax/.done:
	@test -x .venv-rejax/bin/python || $(PYTHON) -m venv .venv-rejax
	@.venv-rejax/bin/pip install --quiet 'rejax==0.1.3' 'gymnax<1'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@$(BIN)/pip install --quiet opencv-python-headless # for the peer's Atari wrappers
	@touch $@

bench: $(VENV)/.bench .venv-rejax/.done ## benchmarks: accuracy, speed, memory, beside the peers
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/estimation.py
	$(BIN)/python benchmarks/wrappers.py
	$(BIN)/python benchmarks/logs.py
	$(BIN)/python benchmarks/cartpole.py
	$(BIN)/python benchmarks/pendulum.py
	$(BIN)/python benchmarks/atari.py

reproduce: $(VENV)/.lab ## every study that is ready, at paper settings
	$(BIN)/unperturb reproduce all

clean: ## remove the environment and what runs left behind
	rm -rf $(VENV) runs build dist
