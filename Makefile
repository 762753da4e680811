# Everything a new clone can do with Python 3.11 or later, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check \
    --no-build-isolation --constraint constraints.txt

# Stamps: the environment can run the service; it can run the tests, and the benchmark.
READY := $(VENV)/.ready
TESTABLE := $(VENV)/.testable
DOCUMENTABLE := $(VENV)/.documentable
SPHINX := $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env
MEASURABLE := $(VENV)/.measurable

# The released service, in an environment of its own; name the Python of another to use that.
RELEASED := .released
RELEASED_PYTHON ?= $(RELEASED)/bin/python

# Servers on which the tests make databases of their own, by a user who may.
export PLACEMENT_TEST_MARIADB_URL ?= mysql+pymysql://root@127.0.0.1:3306/?charset=utf8mb4
export PLACEMENT_TEST_POSTGRESQL_URL ?= postgresql+psycopg://postgres@127.0.0.1:5432/postgres

.PHONY: help serve test test-mariadb test-postgresql test-faults test-clusters test-switch test-client-released docs test-apache test-keystone lint bench bench-workers clean

help:
	@echo 'make serve   run the service on http://127.0.0.1:8778, its data in ./state'
	@echo 'make test    run the tests, the stories, the layer check, ruff and mypy'
	@echo 'make test-client-released   test the client against the released service'
	@echo 'make test-mariadb, make test-postgresql   run the functional tests on a server'
	@echo 'make test-faults   let database servers and workers fail under load'
	@echo 'make test-clusters   read from replicas, write to all nodes of Galera, stop servers'
	@echo 'make test-switch   hand databases over from the released service, and back'
	@echo 'make docs    build the reference of the API and the other pages'
	@echo 'make test-apache   tell stories below Apache, uWSGI and gunicorn; installs Apache on Debian'
	@echo 'make test-keystone   ask a real Keystone who may do what'
	@echo 'make lint    run ruff and mypy'
	@echo 'make bench   measure the service beside the released one: make bench ARGS=--quick'
	@echo 'make bench-workers   measure how many processes and threads get through how much'
	@echo 'make clean   remove what these have made, except for ./state'

serve: $(READY)
	@exec $(BIN)/placement-serve --state-dir state

# The layer check is one of the unit tests.
test: $(TESTABLE)
	@echo '==> unit tests, gabbi tests and layer check'
	@$(BIN)/pytest -n 2 --dist loadfile placement/tests
	@$(MAKE) --no-print-directory lint

test-client-released: $(TESTABLE) $(RELEASED_PYTHON)
	@echo '==> the client against the released service'
	@PLACEMENT_TEST_SERVICE_PYTHON=$(abspath $(RELEASED_PYTHON)) \
	    $(BIN)/pytest placement/tests/functional/test_client.py \
	    placement/tests/functional/test_client_scheduler.py

test-mariadb: export PLACEMENT_TEST_DATABASE_URL = $(PLACEMENT_TEST_MARIADB_URL)
test-postgresql: export PLACEMENT_TEST_DATABASE_URL = $(PLACEMENT_TEST_POSTGRESQL_URL)
test-mariadb test-postgresql: $(TESTABLE)
	@echo '==> $@: stories and other functional tests'
	@$(BIN)/pytest -n 2 --dist loadfile placement/tests/functional

test-faults: $(TESTABLE)
	@echo '==> workers, servers and connections that fail'
	@$(BIN)/pytest placement/tests/databases/test_faults.py

test-clusters: $(TESTABLE)
	@echo '==> replicas, Galera, and servers that go and come'
	@$(BIN)/pytest placement/tests/databases/test_healthcheck.py \
	    placement/tests/databases/test_replicas.py placement/tests/databases/test_galera.py

test-switch: $(TESTABLE) $(RELEASED_PYTHON)
	@echo '==> databases handed over by the released service, and back'
	@PLACEMENT_TEST_RELEASED_PYTHON=$(abspath $(RELEASED_PYTHON)) \
	    $(BIN)/pytest placement/tests/databases/test_switch.py

# Pages are built from nothing, so that no warning is overlooked because it was given before.
docs: $(DOCUMENTABLE)
	@echo '==> api-ref/build/html and doc/build/html'
	@$(SPHINX) api-ref/source api-ref/build/html
	@$(SPHINX) doc/source doc/build/html

# Both make environments of their own, in the directory for temporary files.
test-apache: $(TESTABLE)
	@echo '==> the service below Apache, uWSGI and gunicorn'
	@$(BIN)/pytest placement/tests/servers/test_apache.py placement/tests/servers/test_wsgi_servers.py

test-keystone: $(TESTABLE)
	@echo '==> the service beside Keystone'
	@$(BIN)/pytest placement/tests/servers/test_keystone.py

lint: $(TESTABLE)
	@echo '==> ruff, check and format'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@echo '==> mypy'
	@$(BIN)/mypy

# ARGS are those of `python -m benchmarks --help`, and of `python -m benchmarks.workers --help`.
# They may have several lines, each of which would otherwise be a command of its own.
define NEWLINE


endef

bench: $(MEASURABLE)
	@$(BIN)/python -m benchmarks $(subst $(NEWLINE), ,$(ARGS))

bench-workers: $(MEASURABLE)
	@$(BIN)/python -m benchmarks.workers $(subst $(NEWLINE), ,$(ARGS))

clean:
	@echo '==> removing the environments, the caches and the pages'
	@rm -rf $(VENV) $(RELEASED) .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info \
	    api-ref/build doc/build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Made once, and again when one of these files is newer.
$(READY): constraints.txt setup.cfg setup.py
	@command -v $(PYTHON) >/dev/null || { \
	    echo '$(PYTHON) is not there: install Python 3.11 or later, or name it: make PYTHON=...' >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "$(PYTHON) is too old, $$($(PYTHON) -V 2>&1): Python 3.11 or later is needed" >&2; \
	    exit 1; }
	@echo '==> making the Python environment in $(VENV)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { \
	    echo '$(PYTHON) cannot make a virtual environment: is its venv module installed?' >&2; \
	    exit 1; }
	@echo '==> installing the service, a minute or so the first time'
	@$(PIP_INSTALL) setuptools
	@$(PIP_INSTALL) --editable .
	@touch $@

$(TESTABLE): $(READY)
	@echo '==> installing what the tests need'
	@$(PIP_INSTALL) --editable '.[test]'
	@touch $@

$(DOCUMENTABLE): $(READY)
	@echo '==> installing what the pages are built with'
	@$(PIP_INSTALL) --editable '.[docs]'
	@touch $@

$(MEASURABLE): $(READY)
	@echo '==> installing a web server and the drivers of the databases'
	@$(PIP_INSTALL) --editable '.[bench,mysql,postgresql]'
	@touch $@

$(RELEASED)/bin/python:
	@echo '==> installing the released service in $(RELEASED)'
	@$(PYTHON) -m venv $(RELEASED)
	@$(RELEASED)/bin/python -m pip install --quiet --disable-pip-version-check \
	    openstack-placement==16.0.0 psycopg2-binary PyMySQL waitress || { rm -rf $(RELEASED); exit 1; }
