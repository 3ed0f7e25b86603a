# Two commands do all the set-up:  make demo   and   make test
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# One more than processors: some tests wait for processes they have begun.
JOBS   ?= $(shell $(PYTHON) -c 'import os; print(min(8, (os.cpu_count() or 1) + 1))')

# Hundreds of modules: without their bytecode each start of Python would compile them again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all units units-all test-clients lint types layers check fuzz bench clean help
.PHONY: docs docs-check

help:
	@echo "make demo   install into .venv and open the debugger on a shipped program"
	@echo "make test   install, test a representative of every class, run the type checker and linters"
	@echo "make test-all   the same with every variant of every test (see tests/variants.py)"
	@echo "make docs   the documentation as a site: build/site/index.html"
	@echo "make check  make test, and the documentation built strictly, without its pictures"
	@echo "make test-clients   editors, a browser, Numba, CuPy, Triton and others as clients (see tests/clients)"
	@echo "make fuzz   long fuzz campaigns (needs nvdisasm, NVRTC and g++; see tests/kernels_own/README.md)"
	@echo "make bench  start-up times; speed, as ratios inside one run"
	@echo "make clean  remove what these made: .venv, build, caches, bytecode"

# Python compiles what is imported of other packages; to compile all that is in them takes a minute.
$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gpudbg needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[test]'
	@$(BIN)/python -m compileall -q gpudbg plugins
	@touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/gpudbg demo

# The type checker has one thread: it runs beside the tests.
test: $(STAMP)
	@$(MAKE) --no-print-directory -j 2 units types lint layers

# Every variant: all builds, architectures, sizes and random cases that `make test` takes some of.
test-all: $(STAMP)
	@$(MAKE) --no-print-directory -j 2 units-all types lint layers

units-all: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --full

# A worker that has run out of tests takes some of another's: the slow ones are not spread evenly.
units: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

CLIENTS_STAMP := $(VENV)/.clients-installed

$(CLIENTS_STAMP): $(STAMP) tests/clients/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r tests/clients/requirements.txt
	@touch $(CLIENTS_STAMP)

test-clients: $(CLIENTS_STAMP)
	GPUDBG_CLIENTS=1 $(BIN)/python -m pytest -rs tests/clients

lint: $(STAMP)
	$(BIN)/ruff check gpudbg plugins tests
	$(BIN)/ruff format --check --quiet gpudbg plugins tests

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

check: test docs-check

DOCS_STAMP := $(VENV)/.docs-installed
SPHINX := $(BIN)/python -m sphinx -W --keep-going -q -j $(JOBS) -d build/doctrees

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[docs]'
	@touch $(DOCS_STAMP)

docs: $(DOCS_STAMP)
	$(SPHINX) -b html docs build/site
	@echo "build/site/index.html"

# Every page is read, every reference looked up; nothing is drawn. Planted mistakes are found.
docs-check: $(DOCS_STAMP)
	$(SPHINX) -b dummy docs build/site-check
	$(BIN)/python docs/_site/planted.py

fuzz: $(STAMP)
	$(BIN)/python tests/isa/fuzz_nvdisasm.py
	$(BIN)/python -m tests.isa.volta.fuzz_nvdisasm
	$(BIN)/python -m tests.kernels_own.fuzz_programs --count 300
	$(BIN)/python -m tests.engine.fuzz_stops --stops 1000
	$(BIN)/python -m tests.engine.fuzz_stops --stops 100 --shapes
	$(BIN)/python -m tests.engine.fuzz_stops --stops 100 --shapes --variant sm_80
	$(BIN)/python -m tests.engine.fuzz_lanes --count 3000
	$(BIN)/python -m tests.engine.fuzz_mufu
	$(BIN)/python -m tests.engine.replay_tensor || [ $$? = 2 ]
	$(BIN)/python -m tests.ptxgen.modern || [ $$? = 2 ]
	$(BIN)/python -m tests.tui.fuzz_keys --count 300
	$(BIN)/python -m tests.mem.soak
	$(BIN)/python -m tests.debug.fuzz_history --count 200
	$(BIN)/python -m tests.debug.fuzz_history --count 100 --special
	$(BIN)/python -m tests.debug.fuzz_positions
	$(BIN)/python -m tests.debug.fuzz_provenance --count 100
	$(BIN)/python -m tests.debug.fuzz_sources --count 100
	$(BIN)/python -m tests.debug.fuzz_sources --count 300 --random
	$(BIN)/python -m tests.debug.fuzz_sources --rare
	$(BIN)/python -m tests.debug.fuzz_recordings --count 10000
	$(BIN)/python -m tests.commands.fuzz_lines --count 100000
	$(BIN)/python -m tests.scripts.fuzz_files --count 5000
	$(BIN)/python -m tests.engine.fuzz_random --count 10000
	$(BIN)/python -m tests.engine.fuzz_random --count 3000 --start 100000 --floats
	$(BIN)/python -m tests.engine.fuzz_random --count 1000 --start 200000 --floats --plain
	$(BIN)/python -m tests.engine.fuzz_random --count 1000 --start 300000 --traced
	$(BIN)/python -m tests.engine.fuzz_random --count 3000 --start 400000 --arch sm_75 sm_80 sm_89 sm_90 sm_120
	$(BIN)/python -m tests.engine.fuzz_random --count 2000 --start 700000 --shapes
	$(BIN)/python -m tests.engine.fuzz_random --count 2000 --start 900000 --shapes --lanes --arch sm_50 sm_61 sm_75 sm_80 sm_90 sm_120
	$(BIN)/python -m tests.engine.fuzz_random --count 600 --start 800000 --shapes --arch sm_75 sm_80 sm_90 sm_120
	$(BIN)/python -m tests.engine.fuzz_random --count 400 --start 500000 --stops --arch sm_50 sm_75 sm_80 sm_90 sm_120
	$(BIN)/python -m tests.engine.fuzz_random --count 400 --start 600000 --watched --arch sm_50 sm_61 sm_75 sm_80 sm_90 sm_120
	$(BIN)/python -m tests.engine.fuzz_watch --rounds 8
	$(BIN)/python -m tests.engine.fuzz_watch --rounds 8 --variant sm_80
	$(BIN)/python -m tests.plugins.amdgpu.fuzz_llvm_mc 120 || [ $$? = 2 ]
	$(BIN)/python -m tests.engine.guarded
	$(BIN)/python -m tests.engine.hostile --cases 24
	$(BIN)/python -m tests.engine.hostile --cases 12 --seed 2 --at-begin
	$(BIN)/python -m tests.engine.hostile --cases 12 --seed 3 --host x86-64-v3
	$(BIN)/python -m tests.engine.hostile --cases 12 --seed 6 --host znver1
	$(BIN)/python -m tests.engine.hostile --cases 12 --seed 4 --host x86-64-v2
	$(BIN)/python -m tests.engine.hostile --cases 12 --seed 5 --host x86-64 --at-begin
	$(BIN)/python -m tests.engine.hostile_lines --count 20000
	$(BIN)/python -m tests.engine.hostile_affine --count 200
	$(BIN)/python -m tests.engine.hostile_affine --count 100 --seed 2 --at-begin
	$(BIN)/python -m tests.engine.hostile_affine --count 100 --seed 3 --host x86-64-v3
	$(BIN)/python -m tests.engine.hostile_affine --count 100 --seed 4 --host x86-64-v2
	$(BIN)/python -m tests.engine.hostile_affine --count 50 --seed 5 --host x86-64 --at-begin
	$(BIN)/python -m tests.engine.hostile_modern --count 60
	$(BIN)/python -m tests.engine.hostile_rows --count 100000
	$(BIN)/python -m tests.engine.hostile_modern --count 30 --seed 2 --at-begin

bench: $(STAMP)
	$(BIN)/python tests/bench/startup.py
	$(BIN)/python tests/bench/steps.py
	$(BIN)/python tests/bench/bench.py
	$(BIN)/python tests/bench/bench.py --suite wide --json build/bench/wide.json
	$(BIN)/python tests/bench/modern.py
	$(BIN)/python tests/bench/checks.py
	$(BIN)/python tests/bench/disassembly.py
	$(BIN)/python tests/bench/threads.py
	$(BIN)/python tests/bench/scaling.py
	$(BIN)/python tests/bench/spills.py --suite all
	$(BIN)/python tests/bench/launches.py
	$(BIN)/python tests/bench/first.py
	$(BIN)/python tests/bench/tracing.py
	$(BIN)/python tests/bench/watching.py
	$(BIN)/python tests/bench/reverse.py

clean:
	rm -rf $(VENV) build dist tests/clients/node .coverage
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -maxdepth 2 -prune -exec rm -rf {} +
