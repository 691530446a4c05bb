# make search: the front of search_spaces/kv_cxl.yaml      make test: every check
# Extra arguments: make search ARGS="--trials 20"          make test ARGS="-k units"

VENV   := .venv
RUN    := $(VENV)/bin/
# The environment knows absolute paths: one that was made elsewhere (a moved or copied checkout) is made again.
HERE   := $(shell pwd | cksum | cut -d' ' -f1)
READY  := $(VENV)/.ready-$(HERE)
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(if $(shell \
            $(p) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(p))))
PIP    := $(RUN)python -m pip install --quiet --disable-pip-version-check

.PHONY: search test clean
search: $(READY)
	@$(RUN)dse search spaces/kv_cxl.yaml --resume $(ARGS)

test: $(READY)-dev
	@$(RUN)ruff check .
	@$(RUN)mypy
	@$(RUN)python -m pytest -n auto --dist loadfile $(ARGS)

clean:
	rm -rf $(VENV)

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: needs Python >= 3.11; python3 here is: $$(python3 -V 2>&1). Install one, or: make PYTHON=/path/to/python3.12" >&2; exit 2; }
	@"$(PYTHON)" -c 'import ensurepip' 2>/dev/null || { echo "make: $(PYTHON) cannot make virtual environments. Debian, Ubuntu: sudo apt install $$("$(PYTHON)" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')" >&2; exit 2; }
	@test -x $(RUN)pip -a -e $@ || { rm -rf $(VENV) && "$(PYTHON)" -m venv $(VENV); }
	@echo "Installing into $(VENV) (once: about a minute, 1.4 GB) ..." >&2
	@$(PIP) --editable .
	@touch $@

$(READY)-dev: $(READY)
	@$(PIP) --editable '.[dev]'
	@touch $@
