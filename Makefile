# make demo and make test set everything up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
MODELS := $(patsubst %/pyproject.toml,%,$(wildcard models/*/pyproject.toml))
SMALL_MODELS := $(addprefix --editable ./,$(filter-out %-large,$(MODELS)))
LARGE_MODELS := $(addprefix --editable ./,$(filter %-large,$(MODELS)))
EXTRAS := train,web,hub,hf,draw,spacy,nltk,transformers,tables,ray

.PHONY: demo test test-lowest fuzz soak crash coverage check docs clean

GOLD := src/discotree/treebanks/samples/dutch.discbracket

demo: $(LIGHT)
	$(BIN)/discotree parse "Ik heb het hem niet kunnen zeggen." --model nl --to draw
	$(BIN)/discotree parse "Darüber hat er nie ein Wort verloren." --model de --to draw
	$(BIN)/discotree parse "The train that we took was late." --model en --to draw
	$(BIN)/discotree models
	$(BIN)/discotree parse $(GOLD) --model nl --to discbracket | $(BIN)/discotree evaluate $(GOLD) -

# Compiled tests and modules are kept: without them, every process spends seconds on rewriting assertions.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(READY)
	$(BIN)/pytest --numprocesses auto

# The tests with the lowest versions that pyproject.toml allows. What old versions warn of is not our error.
LOWEST := .venv-lowest
test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip tomli
	$(LOWEST)/bin/python tools/lowest.py > $(LOWEST)/lowest.txt
	PIP_CONSTRAINT=$(LOWEST)/lowest.txt $(LOWEST)/bin/python -m pip install --quiet $(SMALL_MODELS) $(LARGE_MODELS) --editable ".[$(EXTRAS)]" --group dev
	$(LOWEST)/bin/pytest --numprocesses auto --override-ini filterwarnings=default --deselect tests/test_docs.py

# Damaged inputs for everything that reads what strangers send: make fuzz SECONDS=3600 WORKERS=16 SEED=7
SEED ?= 1
WORKERS ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count())")
fuzz: $(READY)
	$(BIN)/python tests/fuzz --seconds $(or $(SECONDS),60) --seed $(SEED) --workers $(WORKERS)

# The web server among 128 clients, of which one in six is hostile: make soak SECONDS=60
soak: $(READY)
	$(BIN)/python benchmarks/soak.py nl --seconds $(or $(SECONDS),600)

# Lines and branches that the default run reaches; slower than make test.
coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# Kill commands at random moments and fill their disks: KILLS=1000 SEED=7.
KILLS ?= 100
crash: $(READY)
	$(BIN)/python tests/crash/crash.py --kills $(KILLS) --seed $(SEED)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python tools/make_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What parsing with small models needs, and no more. They stay where they are: a line of a .pth file leads to each.
$(LIGHT): pyproject.toml constraints.txt $(MODELS:=/pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip editables hatchling
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-build-isolation --editable . $(SMALL_MODELS)
	touch $@

$(READY): $(LIGHT)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]" --group dev
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-build-isolation $(LARGE_MODELS)
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis dist site
