# Every target sets up what it needs: a virtual environment in .venv with the locked dependencies of requirements/.
VENV := .venv
BIN := $(VENV)/bin
# The GPU's targets use GPU_PYTHON. If it is given, it names an existing environment, and nothing is installed.
ifdef GPU_PYTHON
GPU_READY :=
else
GPU_PYTHON := $(BIN)/python
GPU_READY := $(VENV)/gpu
endif
HAS_GPU = nvidia-smi -L >/dev/null 2>&1
HAS_TWO_GPUS = [ "$$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" -ge 2 ]
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Two processes more than there are cores, because half of them begin with tests that wait for servers, workers and deadlines
# (tests/conftest.py). There are too few long files for more than eight.
TEST_PROCESSES ?= $(shell cores=$$(nproc); echo $$((cores < 6 ? cores + 2 : 8)))
# Tests start hundreds of processes; without byte code each would compile the same sources.
test: export PYTHONDONTWRITEBYTECODE =
# Keep Prefect's database here and not in the home folder.
export PREFECT_HOME ?= $(CURDIR)/.prefect

.PHONY: help demo demo-osm test test-on-cpu test-on-emulator docs-configuration nightly emulated-test cluster-test cluster-test-on-gpus three-hosts gpu-test gpu-test-here lint bench bench-on-gpu bench-on-cpu bench-reachability bench-reachability-on-gpu bench-reachability-on-cpu bench-abstractions bench-flows bench-flows-on-gpu bench-flows-on-cpu bench-trees bench-trees-on-gpu bench-trees-on-cpu bench-dynamic bench-dynamic-on-gpu bench-dynamic-on-cpu bench-changes bench-changes-on-gpu bench-changes-on-cpu bench-graphalytics bench-graphalytics-on-gpu bench-graphalytics-on-cpu bounds quick kernel lock advisories screenshots clean

help:
	@echo "make demo             run the flows on New York's roads and two social networks, and print where the results are"
	@echo "make demo-osm         accessibility tables and a map from an OpenStreetMap extract, FILE=... or a small made-up town"
	@echo "make test             lint, types and every test"
	@echo "make quick            lint the changed files and test the changed areas, in less than a minute; BASE=main compares with a branch"
	@echo "make kernel K=wcc     one algorithm's tests, on the CPU and on the emulated GPU"
	@echo "make lint             lint and types only"
	@echo "make nightly          long tests: 2,000 killed runs, killed workers, hosts cut off, millions of arcs, every combination of types"
	@echo "make emulated-test    the CUDA kernels' tests on the emulated GPU, several hours; EMULATED=tests/gpu/one/test_wcc.py for one file"
	@echo "make cluster-test     stages and proofs on Dask workers that may be lost; also on GPUs if there are two"
	@echo "make three-hosts      as root: all stages over three virtual hosts, one of which is lost, as docs/clusters.md describes"
	@echo "make gpu-test         on a machine with a GPU: the CUDA kernels' tests, then compute-sanitizer"
	@echo "make bench            compare our kernels with cuGraph on a GPU, otherwise with SciPy, igraph and NetworKit; BENCH=--help;"
	@echo "                      on a GPU also the sweep over families of graphs; FAMILIES=--help;"
	@echo "                      then whole runs with the scripts that a user would write instead; RUNS=--help"
	@echo "make bounds           compare the times of steps with their bounds, and graphmill estimate with runs"
	@echo "make bench-reachability    compare the reachability index with the thesis's tables; GRAPHS=DIR of the GRAIL authors' .gra.gz files"
	@echo "make bench-trees      measure many shortest-path trees on road networks, and products of them; TREES=--help"
	@echo "make bench-flows      measure maximum flows of many pairs beside SciPy, and transitive closures; FLOWS=--help"
	@echo "make bench-abstractions    measure the graph operators on a GPU beside hand-written kernels and cuGraph; ABSTRACTIONS=--help"
	@echo "make bench-dynamic    measure graphs that change: pages, searches, updates and batches in every structure; DYNAMIC=--help"
	@echo "make bench-graphalytics    measure the six algorithms of LDBC Graphalytics beside other libraries; GRAPHALYTICS=--help"
	@echo "make bench-changes    measure nights of changes, on a GPU also the merge of changes in its memory; CHANGES=--help"
	@echo "make docs-configuration    write docs/configuration.md and the JSON schemas from the code"
	@echo "make lock             resolve requirements/*.txt again; UPGRADE=--upgrade takes the newest versions"
	@echo "make advisories       fetch the known vulnerabilities of the locked packages, which the tests compare with their versions"
	@echo "make screenshots      pictures of the report of make demo, for docs/images"
	@echo "make clean            remove what the other targets made"

demo: $(VENV)/run
	$(BIN)/python -m flows road-network conf/runs/new-york.toml social-network conf/runs/facebook.toml reachability conf/runs/wiki-vote.toml

# FILE=liechtenstein.osm.pbf, in any form of OpenStreetMap; by default a made-up town.
demo-osm: $(VENV)/run
	@mkdir -p out && rm -f out/town.osm
	$(if $(FILE),ln -s $(abspath $(FILE)) out/town.osm,$(BIN)/python data/town.py out/town.osm)
	$(BIN)/graphmill run conf/runs/town.toml
	$(BIN)/graphmill matrix out/town --zone h3:8 --zone-ends centre --out out/town-zones
	$(BIN)/graphmill tiles out/town --out out/town.pmtiles
	@echo "look at out/town/latest/report.html; out/town.pmtiles is a map for MapLibre or https://pmtiles.io"

test: $(VENV)/dev
	@$(MAKE) --no-print-directory --jobs 2 test-on-cpu test-on-emulator || { \
	  echo "make test: lint, the tests or the emulated GPU's tests failed; each of them printed a summary" >&2; exit 1; }
test-on-cpu: lint
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder
# It runs beside lint and then, at low priority, in the time in which the other tests wait: a test that compiles may take long.
# It prints its output when it ends.
test-on-emulator: $(VENV)/dev
	@output=$$(EMULATED_GPU=1 nice -n 10 $(BIN)/python -m pytest tests/emulator --timeout 3600 2>&1); \
	status=$$?; printf '\n%s\n' "$$output"; exit $$status

docs-configuration: $(VENV)/run
	$(BIN)/python -m pipeline.config.reference

nightly: $(VENV)/dev
	NIGHTLY=1 $(BIN)/python -m pytest -m "nightly or hypothesis or sampled"
	for gpu in 8.0 8.6 8.9 9.0 10.0 12.0; do EMULATED_GPU=$$gpu $(BIN)/python -m pytest tests/emulator/test_kernels.py || exit 1; done

BASE ?= HEAD
quick: $(VENV)/dev
	$(BIN)/python -m tests.quick $(BASE)

K ?= wcc
kernel: $(VENV)/dev
	$(BIN)/python -m tests.quick --kernel $(K)

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

EMULATED ?= tests/gpu tests/emulator
emulated-test: $(VENV)/dev
	EMULATED_GPU=1 $(BIN)/python -m pytest $(EMULATED) --numprocesses auto --maxprocesses 4 --timeout 3600
	EMULATED_GPU=9.0 EMULATED_SEED=$(SEED) $(BIN)/python -m pytest tests/emulator
SEED ?= 1

cluster-test: $(VENV)/dev
	$(BIN)/python -m pytest tests/cluster
	@if $(HAS_TWO_GPUS); then $(MAKE) --no-print-directory cluster-test-on-gpus; \
	else echo "cluster-test: the GPU tests are skipped: they need two GPUs, and nvidia-smi finds fewer"; fi
# The example of docs/clusters.md on three virtual hosts of this machine, one of which is lost; as root.
three-hosts: $(VENV)/dev
	$(BIN)/python -m tests.cluster.faults.three
cluster-test-on-gpus: $(GPU_READY)
	$(GPU_PYTHON) -m pytest $(ALL_GPUS)

gpu-test:
	@$(HAS_GPU) || { echo "gpu-test needs an NVIDIA GPU and its driver: nvidia-smi finds none" >&2; exit 1; }
	@$(MAKE) --no-print-directory gpu-test-here
gpu-test-here: $(GPU_READY)
	$(GPU_PYTHON) -m pytest tests/gpu $(ALL_GPUS:%=--ignore %) --numprocesses $(GPU_TEST_PROCESSES) --dist worksteal
	$(GPU_PYTHON) -m pytest $(ALL_GPUS)
	$(GPU_PYTHON) -m tests.gpu.sanitized
# These tests spend most of their time on the CPU, which compiles kernels and computes the expected answers. More than eight
# processes on one GPU are slower.
GPU_TEST_PROCESSES ?= 8
ALL_GPUS := tests/gpu/several/test_nccl.py tests/gpu/several/test_cluster.py

bench:
	@$(MAKE) --no-print-directory bench-on-$$($(HAS_GPU) && echo gpu || echo cpu)
bench-on-gpu: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks $(BENCH)
	$(GPU_PYTHON) -m benchmarks.families.bench $(FAMILIES)
	$(GPU_PYTHON) -m benchmarks.runs.bench $(RUNS)
bench-on-cpu: $(VENV)/dev
	$(BIN)/python -m benchmarks $(BENCH)
	$(BIN)/python -m benchmarks.runs.bench $(RUNS)

bounds: $(VENV)/dev
	$(BIN)/python -m benchmarks.cpu.bounds
	$(BIN)/python -m benchmarks.runs.rates
	$(BIN)/python -m benchmarks.runs.memory

GRAPHS ?= data
bench-reachability:
	@$(MAKE) --no-print-directory bench-reachability-on-$$($(HAS_GPU) && echo gpu || echo cpu)
bench-reachability-on-gpu: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks.one_gpu.reachability --graphs $(GRAPHS)
bench-reachability-on-cpu: $(VENV)/dev
	$(BIN)/python -m benchmarks.cpu.reachability --graphs $(GRAPHS)

bench-trees:
	@$(MAKE) --no-print-directory bench-trees-on-$$($(HAS_GPU) && echo gpu || echo cpu)
bench-trees-on-gpu: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks.trees.bench $(TREES)
	$(GPU_PYTHON) -m benchmarks.trees.products
bench-trees-on-cpu: $(VENV)/dev
	$(BIN)/python -m benchmarks.trees.bench --sources 2048 $(TREES)
	$(BIN)/python -m benchmarks.trees.products

bench-flows:
	@$(MAKE) --no-print-directory bench-flows-on-$$($(HAS_GPU) && echo gpu || echo cpu)
bench-flows-on-gpu: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks.flows $(FLOWS)
bench-flows-on-cpu: $(VENV)/dev
	$(BIN)/python -m benchmarks.flows $(FLOWS)

bench-abstractions: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks.operators.bench $(ABSTRACTIONS)

bench-dynamic:
	@$(MAKE) --no-print-directory bench-dynamic-on-$$($(HAS_GPU) && echo gpu || echo cpu)
bench-dynamic-on-gpu: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks.dynamic.bench $(DYNAMIC)
bench-dynamic-on-cpu: $(VENV)/dev
	$(BIN)/python -m benchmarks.dynamic.bench $(DYNAMIC)
bench-changes:
	@$(MAKE) --no-print-directory bench-changes-on-$$($(HAS_GPU) && echo gpu || echo cpu)
bench-changes-on-gpu: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks.one_gpu.changes
	$(GPU_PYTHON) -m benchmarks.runs.changes --graph kronecker-24 --changes 1000000 $(CHANGES)
bench-changes-on-cpu: $(VENV)/dev
	$(BIN)/python -m benchmarks.runs.changes $(CHANGES)

bench-graphalytics:
	@$(MAKE) --no-print-directory bench-graphalytics-on-$$($(HAS_GPU) && echo gpu || echo cpu)
bench-graphalytics-on-gpu: $(GPU_READY)
	$(GPU_PYTHON) -m benchmarks.graphalytics.bench --scales 22,23,24,25,26 $(GRAPHALYTICS)
bench-graphalytics-on-cpu: $(VENV)/dev
	$(BIN)/python -m benchmarks.graphalytics.bench $(GRAPHALYTICS)

lock: $(VENV)/dev
	$(PIP) --require-hashes -r requirements/lock.txt -c requirements/lock.txt
	$(BIN)/uv pip compile $(LOCK) --group pyproject.toml:lock --output-file requirements/lock.txt
	$(BIN)/uv pip compile $(LOCK) --extra gpu --group gpu --group dev --group build --output-file requirements/gpu.txt pyproject.toml
	$(BIN)/uv pip compile $(LOCK) --constraints requirements/gpu.txt --group dev --group build --output-file requirements/dev.txt pyproject.toml
	$(BIN)/uv pip compile $(LOCK) --constraints requirements/gpu.txt --group build --output-file requirements/run.txt pyproject.toml
	@echo "make advisories next: requirements/advisories.json must cover every locked package"
# RAPIDS allows the fewest versions, so gpu.txt comes first, and the others have the same.
LOCK = $(UPGRADE) --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate

# The database may also be a folder with a clone of it.
DATABASE ?= https://github.com/pypa/advisory-database
advisories: $(VENV)/dev
	$(BIN)/python -m tests.project.dependencies.advisories $(DATABASE)

# Pictures of the report and the map for docs/images, by the headless Chromium of the tests.
screenshots: demo $(VENV)/dev
	$(BIN)/python -m tests.browser.screenshots out/new-york/latest/report.html docs/images

clean:
	rm -rf $(VENV) .prefect out build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/run: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing the locked dependencies (a minute or two)"
	$(PIP) --require-hashes -r requirements/run.txt -c requirements/run.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	$(BIN)/python -m kernels
	@touch $@

$(VENV)/dev: requirements/dev.txt pyproject.toml | $(VENV)/run
	@echo "Installing the development tools"
	$(PIP) --require-hashes -r requirements/dev.txt -c requirements/dev.txt
	@touch $@

$(VENV)/gpu: requirements/gpu.txt | $(VENV)/dev
	@echo "Installing CuPy, cuGraph and compute-sanitizer"
	$(PIP) --require-hashes -r requirements/gpu.txt -c requirements/gpu.txt
	$(BIN)/python -m kernels
	@touch $@

# The first working Python of versions 3.11 to 3.13; PYTHON=... chooses another.
$(BIN)/python:
	@for python in $(PYTHON) python3.13 python3.12 python3.11 python3 python; do \
	  if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then \
	    echo "Making $(VENV) with $$($$python --version)"; exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	echo "graphmill needs Python 3.11, 3.12 or 3.13; name one with: make PYTHON=/path/to/python3.12" >&2; exit 1
