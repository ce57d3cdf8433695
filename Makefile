# Every target but lowest and clean builds .venv first; UCURVE_PYTHON picks the interpreter.
UCURVE_PYTHON ?= python3
VENV := .venv
PYTHON := $(VENV)/bin/python
RUFF := $(VENV)/bin/ruff
INSTALLED := $(VENV)/.installed
LOWEST := .venv-lowest
LOWEST_INSTALLED := $(LOWEST)/.installed
DOCS_INSTALLED := $(VENV)/.installed-docs
CODE := ucurve train eval generation validation analysis launch workbench tokenizers measurements studies tests train.py score.py analyze.py verify.py generate.py

.PHONY: demo notebooks docs bench lowest test long lint types unit format install clean

demo: install
	$(PYTHON) -m launch.demo

# On the demo's runs, or wherever the first cell of each notebook says; make docs shows what they print.
notebooks: install
	mkdir -p cache/notebooks
	OMP_NUM_THREADS=1 $(VENV)/bin/jupyter execute --output='../../cache/notebooks/{notebook_name}' analysis/notebooks/*.ipynb studies/*/*.ipynb

# The site, in site/, with the outputs of the notebooks; a warning or a broken link is an error. NO_MKDOCS_2_WARNING hides
# an announcement of the theme.
docs: $(DOCS_INSTALLED)
	test -e cache/notebooks/first_look.ipynb || $(MAKE) demo notebooks
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build

test: lint types unit

lint: install
	$(RUFF) check $(CODE)
	$(RUFF) format --check $(CODE)

types: install
	$(VENV)/bin/mypy

# Hundreds of processes read the modules that the first ones compiled, whatever the shell says about bytecode. The tests of
# a module run in one process, so that what they share is made once; three processes keep two cores busy, as a third of the
# time of one is waiting for disks and other processes.
TESTS := HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(PYTHON) -m pytest -n 3 --dist loadscope --no-loadscope-reorder --durations=30

unit: install
	$(TESTS)

# What make test has no time for: runs that are killed, moved and requeued, changed bytes, full disks. Only the modules
# that have such tests are read.
long: install
	$(TESTS) -m long $$(grep -rl 'mark\.long' tests --include='test_*.py' | sort)

# All stages of the measurements of an accelerator, small and on the processor, with the tools that they compare with.
bench: install
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(PYTHON) measurements/speed/gpu.py --device cpu --models tiny llama-14m --sequences 8 --length 32 --vocabulary 300 \
		--steps 12 --most-pairs 400 --out cache/gpu

# From a corpus to a report with the lowest versions that pyproject.toml allows, but the torch of constraints.txt.
lowest: $(LOWEST_INSTALLED)
	HF_HUB_OFFLINE=1 $(LOWEST)/bin/python -m tests.lowest

format: install
	$(RUFF) check --fix $(CODE)
	$(RUFF) format $(CODE)

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(PYTHON) || $(UCURVE_PYTHON) -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[dev,russian]'
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --no-deps natasha  # for its models alone
	touch $(INSTALLED)

$(DOCS_INSTALLED): pyproject.toml constraints.txt
	test -x $(PYTHON) || $(UCURVE_PYTHON) -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $(DOCS_INSTALLED)

$(LOWEST_INSTALLED): pyproject.toml constraints-lowest.txt
	test -x $(LOWEST)/bin/python || $(UCURVE_PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable .
	touch $(LOWEST_INSTALLED)

clean:
	rm -rf $(LOWEST) runs cache figures site build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
