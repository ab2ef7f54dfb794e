# `make demo` and `make test` do all of their own set-up; they need python3 (3.11 or newer) with its
# venv module, or uv. Everything is installed in .venv, with the versions and hashes of
# requirements.lock.

PYTHON ?= python3
# Test processes: one per core, at most WORKERS.
WORKERS ?= 8

BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)
ifneq ($(UV),)
PIP := $(UV) pip install --quiet --python $(BIN)/python
else
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif
# One process per core is enough: threads of linear algebra beside them only wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --maxprocesses $(WORKERS) \
	--dist worksteal -q

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv studio studio-images spark gpu demo test lint golden statistical heavy coverage nightly refusals mutants fuzz property soak soak-studio bench bench-microaggregation bench-masking \
	bench-spectral bench-generalization bench-sets bench-scale bench-tables bench-attacks bench-crc bench-first-minute bench-roles bench-costs bench-advisor bench-studio bench-gpu docs lock sbom clean

help:
	@echo "make demo     from generated patient records to releases with their evidence"
	@echo "make studio   the studio on the demo's register, in a browser"
	@echo "make test     every check of every day: ruff, mypy, import-linter, pytest with doctests"
	@echo "make lint     ruff, mypy and import-linter only"
	@echo "make golden   the numbers of the literature; a skipped one is a failure"
	@echo "make statistical   the tests that draw hundreds of times to check a distribution"
	@echo "make heavy    the tests that take minutes or gigabytes"
	@echo "make coverage the tests of every day, with what they do not reach"
	@echo "make nightly  statistical, heavy and coverage, the last with many random examples"
	@echo "make refusals write anew which methods may refuse which tables (tests/contract)"
	@echo "make mutants  whether the tests of the safety rooms notice planted faults (SAMPLE=60 SEED=2: fewer, others)"
	@echo "make fuzz     random tables and plans through the front door, recounted (SECONDS=60 SEED=1; CASE=123: one alone)"
	@echo "make property 10,000 small tables by every method and criterion, recounted (CASES=10000 SEED=1)"
	@echo "make soak     releases killed, raced, interrupted and out of disk, for an hour (SECONDS=3600 SEED=1)"
	@echo "make soak-studio  an hour of scripted use of the studio, and how much memory it keeps (SECONDS=3600)"
	@echo "make studio-images  the pictures of docs/studio.md, from a journey in Chromium"
	@echo "make bench    side by side with other tools"
	@echo "make bench-microaggregation   the same for microaggregation, beside naive versions and papers"
	@echo "make bench-masking   every masking method, the slides' tables, and peers"
	@echo "make bench-spectral  chapters 4 and 5 of Lasko's thesis, with figures; speed of its methods"
	@echo "make bench-sets  set-valued records: Podgursky's curves, real baskets, twenty million sets"
	@echo "make bench-scale  plans out of core and on Spark: equal, killed, and what they cost"
	@echo "make bench-tables  tables with totals: CSPLIB, tau_testW beside tau-Argus, a million cells"
	@echo "make bench-attacks  the red team beside anonymeter, on releases that must fail or pass; seconds"
	@echo "make bench-crc  releases by NIST's rules beside a fresh sample and the published rows, and attacked; hours"
	@echo "make bench-first-minute  seconds of the demo, a first protect and methods, cold and warm"
	@echo "make bench-roles  how many kinds and roles drafts get right, with what they miss"
	@echo "make bench-costs  CPU seconds and memory of what \`sfumato advise\` tries, on a million records"
	@echo "make bench-advisor  what \`sfumato advise\` takes, beside all that it could try, on six files; hours"
	@echo "make bench-studio  the studio on a million records: first view, every click beside a run, memory"
	@echo "make bench-gpu  nearest records on a GPU beside the CPU, and whether they are the same (ARGS=--quick: no GPU)"
	@echo "make bench-generalization  lattice, local recoding, ambiguators and j-anonymity, beside ARX and the thesis"
	@echo "make docs     the catalogue, the reference pages and docs/seeds.md, from the declarations"
	@echo "make spark    PySpark in .venv, for the tests of Spark (they need Java 17, and skip without)"
	@echo "make gpu      numba-cuda in .venv, for the tests of kernels on a GPU (they run on numba's simulator)"
	@echo "make lock     write requirements.lock anew (needs uv; UPGRADE=1 takes the newest versions)"
	@echo "make sbom     build/sbom.json: what runs Sfumato, with versions and licences (CycloneDX)"
	@echo "make venv     only the set-up, in .venv (PYTHON=python3.12 chooses the interpreter)"
	@echo "make clean    remove caches and build products; .venv stays"

# Two stamps: the demo needs no developers' tools, so it does not wait for them.
venv: .venv/.installed

# Dependencies first, each file by its hash; then Sfumato itself, built with what is there already.
# The sections of the lock follow one another, so that a beginning of it is a set-up of its own.
LOCKED = $(PIP) --require-hashes -r .venv/wanted.lock && $(PIP) --no-deps --no-build-isolation -e .

.venv/.installed: pyproject.toml requirements.lock | $(BIN)/python
	@echo "installing Sfumato and the developers' tools in .venv"
	@sed '/^# == spark/,$$d' requirements.lock > .venv/wanted.lock
	@$(LOCKED)
	@touch .venv/.installed-project .venv/.installed-studio .venv/.installed

.venv/.installed-studio: pyproject.toml requirements.lock | $(BIN)/python
	@echo "installing Sfumato and its studio in .venv"
	@sed '/^# == dev/,$$d' requirements.lock > .venv/wanted.lock
	@$(LOCKED)
	@touch .venv/.installed-project .venv/.installed-studio

.venv/.installed-project: pyproject.toml requirements.lock | $(BIN)/python
	@echo "installing Sfumato in .venv"
	@sed '/^# == studio/,$$d' requirements.lock > .venv/wanted.lock
	@$(LOCKED)
	@touch .venv/.installed-project

# A half-made environment is removed, so that the next attempt starts afresh.
$(BIN)/python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "$(PYTHON) was not found: install Python 3.11 or newer, or name one with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Sfumato needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
	       "Name another with PYTHON=..." >&2; exit 1; }
ifneq ($(UV),)
	@echo "creating .venv with uv and $$($(PYTHON) -V)"
	@$(UV) venv --quiet --seed --python $(PYTHON) .venv || { rm -rf .venv; exit 1; }
else
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment: its venv or ensurepip module is missing." \
	       "Install it (Debian, Ubuntu: apt-get install python3-venv) or install uv." >&2; exit 1; }
	@echo "creating .venv with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
endif

demo: .venv/.installed-project
	@$(BIN)/sfumato demo --replace

studio: .venv/.installed-studio
	@test -f sfumato-demo/register.csv || $(BIN)/sfumato demo --replace
	@$(BIN)/sfumato studio sfumato-demo/register.csv

# Spark is large: only its own tests ask for it.
spark: .venv/.installed-spark

.venv/.installed-spark: .venv/.installed
	@echo "installing PySpark in .venv"
	@sed '/^# == gpu/,$$d' requirements.lock > .venv/wanted.lock
	@$(LOCKED)
	@touch .venv/.installed-spark

gpu: .venv/.installed-gpu

.venv/.installed-gpu: .venv/.installed
	@echo "installing numba-cuda in .venv"
	@sed '/^# == spark/,/^# == gpu/d' requirements.lock > .venv/wanted.lock
	@$(LOCKED)
	@touch .venv/.installed-gpu

# The checks of style have a core while the tests begin; either failing is a failure.
test: .venv/.installed
	@$(MAKE) --no-print-directory lint & style=$$!; $(PYTEST); tests=$$?; \
	  wait $$style || { echo "make lint failed" >&2; exit 1; }; exit $$tests

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports --no-logo

golden: .venv/.installed
	$(PYTEST) -m golden --no-skips

statistical: .venv/.installed
	$(PYTEST) -m "statistical and not heavy"

# With Java its tests of Spark run, too; without it they skip and say so.
heavy: .venv/.installed $(if $(or $(JAVA_HOME),$(shell command -v java 2>/dev/null)),.venv/.installed-spark)
	$(BIN)/python -m pytest -m heavy -q

coverage: .venv/.installed
	$(PYTEST) --cov --cov-report=term

nightly: export SFUMATO_HYPOTHESIS ?= nightly
nightly: statistical heavy coverage

refusals: .venv/.installed
	$(PYTEST) tests/contract --remake-refusals

# ONLY=criteria takes one stratum of tests/mutants/strata.toml.
SAMPLE ?= 600
SEED ?= 1
JOBS ?= 2
mutants: .venv/.installed
	$(BIN)/python -m tests.mutants.run --sample $(SAMPLE) --seed $(SEED) --jobs $(JOBS) $(ONLY:%=--only %)

# Cases are small: threads would only wait for one another.
FUZZ := POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m tests.fuzz
fuzz: .venv/.installed
	$(FUZZ) --seconds $(or $(SECONDS),60) --seed $(SEED) $(CASE:%=--case %)

CASES ?= 10000
property: .venv/.installed
	$(FUZZ) --methods --cases $(CASES) --seed $(SEED) $(CASE:%=--case %)

soak: .venv/.installed
	$(FUZZ).soak --seconds $(or $(SECONDS),3600) --seed $(SEED)

soak-studio: .venv/.installed
	$(BIN)/python -m tests.studio.soak --seconds $(or $(SECONDS),3600)

bench: .venv/.installed
	$(BIN)/python benchmarks/run.py

# Half an hour on two cores; benchmarks/README.md names the parts.
bench-microaggregation: .venv/.installed
	$(BIN)/python benchmarks/mdav_speed.py
	$(BIN)/python benchmarks/crest_speed.py
	$(BIN)/python benchmarks/li_sarkar.py
	$(BIN)/python benchmarks/class_restricted.py
	$(BIN)/python benchmarks/information_loss.py

# The methods, measures and intruders of the textbook, beside the slides and the peers.
bench-masking: .venv/.installed
	$(BIN)/python benchmarks/methods_speed.py
	$(BIN)/python benchmarks/linkage_speed.py
	$(BIN)/python benchmarks/rank_swapping.py
	$(BIN)/python benchmarks/clusters.py
	$(BIN)/python benchmarks/clusters.py --warm
	$(BIN)/python benchmarks/cluster_correlations.py --warm
	$(BIN)/python benchmarks/fuzzy_clusters.py
	$(BIN)/python benchmarks/ipso.py
	$(BIN)/python benchmarks/census_map.py
	$(BIN)/python benchmarks/masking_peers.py
	$(BIN)/python benchmarks/noisy_trees.py
	$(BIN)/python benchmarks/suda_speed.py
	$(BIN)/python benchmarks/population_risk.py

bench-spectral: .venv/.installed
	$(BIN)/python benchmarks/spectral.py --out build/spectral
	$(BIN)/python benchmarks/gate_power.py
	$(BIN)/python benchmarks/spectral_spaces.py
	$(BIN)/python benchmarks/tree_members.py
	$(BIN)/python benchmarks/spectral_speed.py
	$(BIN)/python benchmarks/prediction.py
	$(BIN)/python benchmarks/kernel_pca.py

bench-generalization: .venv/.installed
	$(BIN)/python benchmarks/full_domain.py
	$(BIN)/python benchmarks/local_recoding.py
	$(BIN)/python benchmarks/recoding_bound.py
	$(BIN)/python benchmarks/ambiguators.py
	$(BIN)/python benchmarks/j_anonymity.py

# An hour on two cores; the scale part needs 6 GiB and 4 GiB of disk.
bench-sets: .venv/.installed
	$(BIN)/python benchmarks/sets_curves.py adult
	$(BIN)/python benchmarks/sets_curves.py synthetic --seeds 0
	$(BIN)/python benchmarks/sets_curves.py baskets
	$(BIN)/python benchmarks/named_searches.py
	$(BIN)/python benchmarks/sets_scale.py --curve

# Hours on two cores, 3 GiB and 60 GB of disk; benchmarks/README.md names the parts.
bench-scale: .venv/.installed-spark
	$(BIN)/python benchmarks/scale_out.py same
	$(BIN)/python benchmarks/scale_out.py killed
	$(BIN)/python benchmarks/scale_out.py large
	$(BIN)/python benchmarks/scale_out.py ratio
	$(BIN)/python benchmarks/scale_out.py sets
	$(BIN)/python benchmarks/scale_out.py wide
	$(BIN)/python benchmarks/scale_out.py growth --records 1000000 10000000 100000000
	$(BIN)/python benchmarks/scale_out.py estimate

# Two hours on two cores with ten minutes to each instance of CSPLIB.
bench-tables: .venv/.installed
	$(BIN)/python benchmarks/tables_tau.py
	$(BIN)/python benchmarks/tables_csplib.py --seconds 600
	$(BIN)/python benchmarks/tables_adjustment.py
	$(BIN)/python benchmarks/tables_scale.py
	$(BIN)/python benchmarks/tables_inversion.py --tau

# Hours on two cores, most of them anonymeter's; --seeds 2 for a look.
bench-attacks: .venv/.installed
	$(BIN)/python benchmarks/red_team.py verdicts
	$(BIN)/python benchmarks/red_team.py speed
	$(BIN)/python benchmarks/red_team.py suite

# What was made stands in build/, so that a run that was stopped goes on.
bench-crc: .venv/.installed
	@mkdir -p build
	$(BIN)/python benchmarks/crc.py whole --json build/crc-whole.json
	$(BIN)/python benchmarks/crc.py halves --json build/crc-halves.json

# With ARGS=--all every method and search.
bench-first-minute: .venv/.installed
	$(BIN)/python benchmarks/first_minute.py $(ARGS)

bench-roles: .venv/.installed
	$(BIN)/python benchmarks/roles.py --wrong

# Half an hour; what it finds stands in the declarations.
bench-costs: .venv/.installed
	$(BIN)/python benchmarks/costs.py

# What was tried stands in build/, so that a run that was stopped goes on. ARGS="--people 4000" takes hours less.
bench-advisor: .venv/.installed
	$(BIN)/python benchmarks/advisor.py --kept build/advisor $(ARGS)

# Ten minutes, most of them two trials of a million records.
bench-studio: .venv/.installed
	$(BIN)/python benchmarks/studio.py

# Needs numpy, scipy, numba and numba-cuda alone, and a GPU; ARGS=--quick runs on numba's simulator.
bench-gpu: .venv/.installed-gpu
	$(BIN)/python benchmarks/gpu.py $(ARGS)

docs: .venv/.installed
	$(BIN)/python -m sfumato.catalogue
	$(BIN)/python -m sfumato.cli.reference docs/reference
	$(BIN)/python -m tests.docs.make_seeds

studio-images: .venv/.installed
	$(BIN)/python -m tests.studio.screenshots docs/images

lock:
	$(PYTHON) -m tests.supply.lock $(if $(UPGRADE),--upgrade)

sbom: .venv/.installed-project
	$(BIN)/python -m tests.supply.sbom build/sbom.json

clean:
	rm -rf build dist htmlcov .coverage .coverage.* .hypothesis \
	  .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
