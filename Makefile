# make demo and make test need Python 3.11 or newer and make; everything else goes into .venv.

# the first interpreter that is new enough; another: make PYTHON=/path/to/python3
RECENT = import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(RECENT)' >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
JOBS ?= 2

.PHONY: setup demo demo-cluster test tests test-all test-opencl test-oclgrind test-ptx test-aarch64 lint types bench docs linkcheck wheel release-check licences clean

demo: $(STAMP)
	$(BIN)/python examples/demo.py

# what a change needs: .venv with the package, in place, and its tests
setup: $(STAMP)

# programs over data in chunks, by two processes of a Dask cluster on this machine
demo-cluster: $(STAMP)
	$(BIN)/python examples/cluster

# the types are checked while the tests run: mypy has one core alone
test: lint
	$(MAKE) -j2 types tests

# 6 minutes of two cores; the table at the end of the first run says what is too dear
tests: $(STAMP)
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "not slow"
	FLATWEAVE_RUNTIME=portable $(BIN)/python -m pytest -q -n $(JOBS) $(PORTABLE)
	$(OPENCL) $(OPENCL_QUICK)

# what macOS and Windows run (runtime/portable.ll), on Linux: threads, buffers, forks
PORTABLE := tests/runtime/test_pool.py tests/runtime/test_buffers.py tests/runtime/test_lazy_kernels.py

# the language on OpenCL where there is a device: the part of make test-opencl that takes 15 seconds
OPENCL := TEST_TARGETS=opencl $(BIN)/python -m pytest -q -n $(JOBS)
OPENCL_QUICK := -m "needs_opencl and not slow" $(foreach what,arguments branches contractions control jit long_folds numbers \
	shapes sources trees writes,tests/language/test_$(what).py)

# About an hour of two cores: make test, the tests marked `slow`, which say more of what others say,
# with the libraries that Ragged values come from, many more examples for every law, 1,000 random
# programs against NumPy, 500 random nests against plain Python, 20 programs run 1,000 times each for
# the same bits, and for each level of x86-64, and for the portable runtime, the language's tests and
# some random programs. Ten times as many programs and nests: python -m tests.random_runs, whose
# record goes on where it was cut off.
LEVELS ?= x86-64-v2 x86-64-v3 x86-64-v4
ORACLE := $(BIN)/python -m tests.oracle --workers $(JOBS)
LAWS := tests/laws tests/terms tests/array_ir tests/frontend tests/language

test-all: $(VENV)/installed-exchange test
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m slow $(LAWS:%=--ignore=%)
	TEST_LLVM=optimised $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal \
		--hypothesis-profile=thorough $(LAWS)
	$(MAKE) test-oclgrind
	$(ORACLE) --programs 1000 --seed 10000
	$(BIN)/python -m tests.nests --workers $(JOBS) --nests 500 --seed 10000
	FLATWEAVE_SCHEDULE=version=by-row $(BIN)/python -m tests.nests --workers $(JOBS) --nests 200 --seed 15000
	$(ORACLE) --bits 20 --runs 1000
	for level in $(LEVELS); do \
		FLATWEAVE_CPU=$$level $(BIN)/python -m tests.runs_here || continue; \
		TEST_LLVM=optimised FLATWEAVE_CPU=$$level $(BIN)/python -m pytest -q -n $(JOBS) -m "not slow" tests/language || exit 1; \
		FLATWEAVE_CPU=$$level $(ORACLE) --programs 100 --seed 20000 || exit 1; done
	FLATWEAVE_RUNTIME=portable $(BIN)/python -m pytest -q -n $(JOBS) -m "not slow" tests/language tests/runtime tests/devices
	FLATWEAVE_RUNTIME=portable $(ORACLE) --programs 100 --seed 30000

# every test that runs on each target, on an OpenCL device, and random nests; needs one
test-opencl: $(STAMP)
	$(OPENCL) -m "needs_opencl or needs_device" --dist worksteal tests
	$(BIN)/python -m tests.nests --target opencl --workers $(JOBS) --nests 300 --seed 40000

# the quick ones on a simulator that checks bounds and races (Debian's oclgrind; without it, nothing)
test-oclgrind: $(STAMP)
	$(BIN)/python -m tests.oclgrind --jobs $(JOBS)

# every test that runs on each target, on a GPU of NVIDIA's, and random nests
test-cuda: $(STAMP)
	TEST_TARGETS=cuda TEST_DEVICE=cuda $(BIN)/python -m pytest -q -n $(JOBS) -m "needs_cuda or needs_device" --dist worksteal tests
	$(BIN)/python -m tests.nests --target cuda --workers $(JOBS) --nests 300 --seed 40000

# the same on an interpreter of the PTX that NVRTC writes, without a GPU: threads of blocks in mixed order
test-ptx: $(STAMP)
	TEST_PTX=mixed TEST_TARGETS=cuda $(BIN)/python -m pytest -q -n $(JOBS) -m "needs_cuda and not slow" --dist worksteal tests/language
	TEST_PTX=mixed $(BIN)/python -m tests.nests --target cuda --workers $(JOBS) --nests 300 --seed 40000

# the language's tests as aarch64 code: LLVM selects every kernel for NEON and for SVE2, and an
# emulated Python runs them all with NEON (hours; needs Debian's debootstrap and qemu-user)
AARCH64 := build/aarch64/programs

test-aarch64: $(STAMP)
	RECORD_TO=$(AARCH64) $(BIN)/python -m pytest -q -n $(JOBS) -p tests.aarch64.record tests/language
	$(BIN)/python -m tests.aarch64.select $(AARCH64)
	$(BIN)/python -m tests.aarch64 -n $(JOBS) --dist worksteal tests/language

# the suite of the array API standard (github.com/data-apis/array-api-tests with its submodule), here and
# on NumPy; every failure needs an argument (bench/standard.py). A run that is cut off goes on where it was:
# make test-standard SUITE=path EXAMPLES=1000 SHARDS=48
EXAMPLES ?= 100
SHARDS ?= 1

test-standard: $(STAMP)
	@test -n "$(SUITE)" || { echo "Name a clone of array-api-tests: make test-standard SUITE=path"; exit 1; }
	$(PIP) install --quiet -r $(SUITE)/requirements.txt
	$(BIN)/python -m bench.standard $(SUITE) $(EXAMPLES) --shards $(SHARDS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/codespell

types: $(STAMP)
	$(BIN)/mypy

bench: $(VENV)/installed-bench
	$(BIN)/python bench/run.py

# the page of real dumps and the stub, which tests compare with what the compiler gives; then the
# site, build/site/index.html, without network: a warning or a link that leads nowhere is an error
docs: $(VENV)/installed-docs
	$(BIN)/python -m tools.tour docs/tour.md
	$(BIN)/python -m tools.stub flatweave/__init__.pyi
	$(BIN)/python -m docs.making build/source
	rm -rf build/site
	$(BIN)/python -m sphinx -q -W --keep-going -n -c docs -d build/doctrees build/source build/site
	$(BIN)/python -m docs.making.links build/site

# asks for every address outside of the site; needs a network
linkcheck: docs
	$(BIN)/python -m sphinx -q -b linkcheck -c docs -d build/doctrees build/source build/linkcheck

# an sdist, a wheel made from it, and the README's programs on that wheel in an empty environment
wheel: $(VENV)/installed-release
	rm -rf dist && mkdir -p build
	$(BIN)/python -m build --outdir dist . >build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python release/check_wheel.py dist

# a release rehearsed, from a clean clone of what is committed: sdist, wheel, metadata, licences, the
# changelog; installed into an empty environment of each Python that is found (PYTHONS="path .." adds
# some), with the README's programs and quick tests
release-check: $(VENV)/installed-release
	$(BIN)/python release/rehearse.py

# docs/licences.md: what each package states; needs all extras in .venv (pip install -e '.[EXTRA,..]')
PACKAGES = import re, tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	rows = [p["dependencies"], *p["optional-dependencies"].values()]; \
	print(*sorted({re.split(r"[^\w.-]", x)[0] for row in rows for x in row} - {"flatweave"}))
LICENCES := docs/licences.md

licences: $(VENV)/installed-release
	sed '/^|/,$$d' $(LICENCES) >$(VENV)/licences.md
	$(BIN)/pip-licenses --from=mixed --format=markdown --with-system --packages $$($(BIN)/python -c '$(PACKAGES)') >>$(VENV)/licences.md
	mv $(VENV)/licences.md $(LICENCES)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Flatweave needs Python 3.11 or newer; none was found."; \
		echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: its venv module is incomplete."; \
		echo "Install it (Debian, Ubuntu: apt install python3-venv), or name another Python:"; \
		echo "  make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -e '.[test,demo]'
	@touch $@

$(VENV)/installed-exchange: $(STAMP)
	$(PIP) install --quiet -e '.[exchange,files]'
	@touch $@

$(VENV)/installed-release: $(STAMP)
	$(PIP) install --quiet -e '.[release]'
	@touch $@

$(VENV)/installed-docs: $(STAMP)
	$(PIP) install --quiet -e '.[docs]'
	@touch $@

$(VENV)/installed-bench: $(STAMP)
	$(PIP) install --quiet -e '.[bench]'
	@touch $@
