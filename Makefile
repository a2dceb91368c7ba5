# make study   the whole study at PROFILE (default: quick, offline, minutes), or of it
#              NOTEBOOKS="04 20" and their runs alone; on a cluster see Snakefile
# make test    the tests
# make report  the executed notebooks of PROFILE as a site: report/<profile>/index.html
# make lab     JupyterLab, with FLAGS="--port 9999" for instance
# They set up .venv first; nothing else is needed but Python 3.11-3.13 and make. In the
# environment `mocose` of conda they take that one.

PROFILE ?= quick
DATA    ?=
NOTEBOOKS ?=
CORES   ?= $(shell getconf _NPROCESSORS_ONLN)
FLAGS   ?=
PYTHON  ?= python3
VENV    := $(if $(filter mocose,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX),.venv)
BIN     := $(VENV)/bin
ROOT    := $(filter 0,$(shell id -u))

# recipes read these from the environment, so that the shell never takes their text for commands
export PROFILE DATA CORES NOTEBOOKS
export TOKENIZERS_PARALLELISM := false
export HF_HUB_DISABLE_TELEMETRY := 1
ifneq ($(filter smoke quick,$(PROFILE)),)
export HF_HUB_OFFLINE := 1
endif
ifdef DATA
with_data = MOCOSE_DATA="$$(cd "$$DATA" && pwd)" && export MOCOSE_DATA &&
endif

# one process per core: more threads would wait for each other
study test: export OMP_NUM_THREADS := 1

.PHONY: study test test-slow report lab clean-quick

study: $(VENV)/installed
	@exec $(BIN)/mocose study --profile "$$PROFILE" --notebooks "$$NOTEBOOKS" \
	  --workers "$$CORES" $(if $(DATA),--data "$$DATA")

test: $(VENV)/installed
	$(with_data) $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile \
	  --no-loadscope-reorder --nbval-lax --nbval-current-env tests notebooks

test-slow: $(VENV)/installed
	$(with_data) $(BIN)/python -m pytest -m slow

report: $(VENV)/installed
	$(BIN)/mocose report --profile "$$PROFILE"

lab: $(VENV)/installed
	$(with_data) $(BIN)/jupyter lab $(if $(ROOT),--allow-root) $(FLAGS) notebooks

clean-quick:
	rm -rf data/runs/quick data/executed/quick figures/quick report/quick data/cache/done/quick

$(VENV)/installed: pyproject.toml requirements.lock
	$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))" \
	  || { echo "Python 3.11, 3.12 or 3.13 is needed; try make PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@
