# The front door. Every target works in a clean clone: what is missing is installed and built first.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
export JOBS

SOURCES = $(shell find src include examples -name '*.h' -o -name '*.cpp' -o -name '*.c')

.DEFAULT_GOAL := help
.PHONY: help deps build install core demo demo-service soak test arm64-test arm64-quick-test python-test examples deb deb-test wheel wheel-test tsan bench lint format format-check fuzz interop mutants clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  JOBS=n sets how many compilers and tests run at once (now $(JOBS))."

deps: ## install the packages that building and testing need, if any is missing
	@scripts/install-deps build learning test

build: ## build the program build/zkapex, and those beside it that it hands over to
	@scripts/install-deps build learning
	@scripts/build release zkapex

PREFIX ?= /usr/local
install: build ## install programs, library, zkapex(1) and documents under PREFIX (/usr/local), below DESTDIR if that is set
	@scripts/build release libzkapex
	@scripts/man-page build/zkapex >build/zkapex.1
	@cmake --install build --prefix "$(PREFIX)"

demo: build ## the whole story on real images (demo-out/report.html), two to eight minutes, then the same through the service
	@build/zkapex demo --force
	@scripts/demo-service build/zkapex demo-out

demo-service: ## a provider and three agents as processes on a small made-up deployment; stays up, and prints the dashboard's link
	@scripts/install-deps build
	@scripts/build core zkapex
	@scripts/demo-service build/core/zkapex

SOAK_MINUTES ?= 5
soak: ## a provider and agents for SOAK_MINUTES (default 5), all of whom are killed at random; then everything is audited
	@scripts/install-deps build
	@scripts/build core zkapex
	@scripts/soak-service build/core/zkapex $(SOAK_MINUTES)

test: deps format-check ## formatting, all tests, most of them again under sanitizers, some for arm64 under qemu
	@scripts/build release
	@scripts/run-tests release
	@scripts/build asan
	@scripts/run-tests asan
	@scripts/install-deps build arm64
	@scripts/run-arm64-tests release quick

arm64-test: ## cross-build for arm64 and run the tests of the core and of the commands under qemu
	@scripts/install-deps build arm64
	@scripts/run-arm64-tests core

arm64-quick-test: ## the same for the arithmetic, and proofs that cross over only, as in make test
	@scripts/install-deps build arm64
	@scripts/run-arm64-tests core quick

python-test: ## the Python package with PyTorch: installs it under build/, then runs its tests and the tutorial
	@scripts/install-deps build python
	@scripts/build core zkapex
	@scripts/python-environment transformers peft
	@scripts/run-python-tests

examples: ## run the examples in Python and the notebook (make test has that in C)
	@scripts/install-deps build python
	@scripts/python-environment transformers peft 'flwr[simulation]' nbclient ipykernel
	@scripts/run-examples

deb: ## Debian packages of program and library, without libtorch: build/deb/*.deb
	@scripts/install-deps build package
	@scripts/deb build/deb

deb-test: deb ## lintian, a second build that must give the same bytes, and a run in a new Debian (needs root)
	@scripts/deb-test

wheel: ## a Python package with all that it needs, for any Linux of these years: build/wheel/*.whl
	@scripts/install-deps build python
	@scripts/wheel build/wheel

wheel-test: wheel ## a second build that must give the same bytes, and its tests in a new environment
	@scripts/build core zkapex
	@scripts/wheel-test

core: ## build the program without libtorch, as it goes on a device: build/core/zkapex
	@scripts/install-deps build
	@scripts/build core zkapex

tsan: deps ## all tests that need no libtorch under the thread sanitizer
	@scripts/build tsan
	@scripts/run-tests tsan

bench: build ## time every kernel against its baseline, thoroughly (under a minute)
	@build/zkapex bench kernels

lint: ## clang-tidy on all sources
	@scripts/install-deps build learning lint
	@scripts/lint

format: ## rewrite the sources in the project's format
	@scripts/install-deps test
	@clang-format -i $(SOURCES)

format-check:
	@clang-format --dry-run -Werror $(SOURCES)

fuzz: ## run every fuzzer for FUZZ_SECONDS (default 60) seconds each
	@scripts/install-deps build fuzz
	@scripts/build fuzz
	@scripts/run-fuzzers $(FUZZ_SECONDS)

interop: deps ## other people's tools check logs and envelopes (needs Go 1.26)
	@scripts/install-deps python
	@scripts/build release exchange_test
	@scripts/interop

mutants: deps ## disable the checks of verifiers and readers one at a time and show which test catches it
	@scripts/mutants

clean: ## remove everything that was built
	@rm -rf build
