# All commands of the project; they need Python 3.11 or later, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python tools/pip_install.py --no-build-isolation --constraint constraints.txt

# Stamps: the environment has what the service, the tests, the pages, and the benchmarks need.
READY := $(VENV)/.ready
CLIENT := $(VENV)/.client
TESTABLE := $(VENV)/.testable
DOCUMENTABLE := $(VENV)/.documentable
SPHINX := $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env
MEASURABLE := $(VENV)/.measurable

# Distributions of their own: the commands for the openstack client, and the report client.
COMMANDS := osc-placement-insight
REPORT_CLIENT := placement-report-client

# Upstream (openstack-placement 16) in an environment of its own; name the Python of another to use that.
UPSTREAM_HOME := .upstream
UPSTREAM_PYTHON ?= $(UPSTREAM_HOME)/bin/python

AXE := .axe/node_modules/axe-core/axe.min.js
TYPESCRIPT := .axe/node_modules/.bin/tsc

# Files in their order, long ones first, so that no process is left with a long file at the end. Those
# that start servers wait for them most of the time.
SHARED_OUT := -n 2 --dist loadfile --no-loadscope-reorder

# Servers on which the tests create databases, as a user who has the right to.
export PLACEMENT_TEST_MARIADB_URL ?= mysql+pymysql://root@127.0.0.1:3306/?charset=utf8mb4
export PLACEMENT_TEST_POSTGRESQL_URL ?= postgresql+psycopg://postgres@127.0.0.1:5432/postgres

.PHONY: help serve demo demo-questions test quick test-mariadb test-postgresql test-faults test-clusters test-upgrade test-region test-upstream docs test-apache test-attacks test-metrics test-core test-keystone test-ui test-install platforms rehearse lint hooks changelog dist release bench bench-workers bench-load region mutants clean

help:
	@echo 'make serve   run the service on http://127.0.0.1:8778, its data in ./state; PORT=8779 takes'
	@echo '             another port, CONFIG=placement.conf reads that configuration'
	@echo 'make demo    run it with a made-up cloud of 1,000 hosts, its data in ./state-demo'
	@echo 'make demo-questions   print what can be asked of it again, with commands that answer'
	@echo 'make test    run the unit tests, the gabbi tests, the layer check, ruff and mypy'
	@echo 'make quick   run the unit tests, the gabbi files that are changed, ruff and mypy'
	@echo 'make test-upstream   compare answers with those of upstream, and run the tests of the client against it'
	@echo 'make test-mariadb, make test-postgresql   run the functional tests on a server'
	@echo 'make test-faults   inject faults under load: kill workers and database servers, cut connections'
	@echo 'make test-clusters   test read replicas, clusters of Galera and PostgreSQL, a pooler, and restarts of database'
	@echo '             servers; installs haproxy and pgbouncer on Debian'
	@echo 'make test-upgrade   test upgrade from upstream, rollback to it, and two releases at a time'
	@echo 'make test-region   run clients against a region with each database while some faults happen'
	@echo 'make docs    build the documentation, API reference included'
	@echo 'make changelog   write CHANGELOG.rst from the release notes'
	@echo 'make dist    build the source archive, with CHANGELOG.rst, and the wheel; and both of the'
	@echo '             commands for the openstack client, and of the report client; a bill of'
	@echo '             materials; and checksums, the same whoever builds them'
	@echo 'make release   tag the commit, and add the pages, image build files and an index of packages to'
	@echo '             those of make dist; VERSION=... has to be the number in setup.cfg'
	@echo 'make test-apache   run gabbi tests under Apache, uWSGI and gunicorn; installs Apache on Debian'
	@echo 'make test-attacks  send slow and malformed requests to each web server; installs nginx on Debian'
	@echo 'make test-metrics  test the metrics with Prometheus, and the alerts; installs Prometheus on Debian'
	@echo 'make test-core   run the gabbi tests against the core alone, from a wheel without insight'
	@echo 'make test-keystone   test authentication and policy with a real Keystone'
	@echo 'make test-ui   check the types of the page, and test it in Chromium, with axe-core; installs'
	@echo '             Chromium on Debian, needs npm'
	@echo 'make test-install   follow the pages about installing on new machines; takes the rights of root'
	@echo 'make platforms   run tests with Python, MariaDB, MySQL, PostgreSQL and pgbouncer of other suites of'
	@echo '             Debian, and write down for the support page what passed: PLATFORMS=mysql-9, all'
	@echo '             without; lays the suites below ~/.cache with debootstrap, with the rights of root'
	@echo 'make rehearse   restore a dump twice, send the reads of an access log to upstream and to this'
	@echo '             service, and report what differs: DUMP=FILE LOG=access.log UPSTREAM=PYTHON'
	@echo 'make lint    run ruff and mypy'
	@echo 'make hooks   run the same checks at every commit, by pre-commit'
	@echo 'make bench   compare the performance of this service and upstream: make bench ARGS=--quick'
	@echo 'make bench-workers   measure throughput by number of processes, and model that of more cores'
	@echo 'make bench-load   measure growth to 130,000 hosts, many clients and a full cloud: HOSTS=1000 DB=sqlite'
	@echo 'make region   run clients against three database nodes and three API instances while faults'
	@echo '             happen; DATABASE=postgresql takes that in place of Galera'
	@echo 'make mutants   change the search in small ways, and check that a test notices each: make mutants ARGS=nogoods'
	@echo 'make clean   remove everything that these targets created, except ./state'

# PORT=8778 is the default; CONFIG=placement.conf is read in place of the defaults for trials, and
# nothing else is: neither files in the usual places nor variables that name another database.
serve: $(READY)
	@exec env -u OS_PLACEMENT_CONFIG_DIR -u OS_PLACEMENT_DATABASE__CONNECTION \
	    $(BIN)/placement-serve --state-dir state \
	    $(if $(PORT),--port '$(PORT)') $(if $(CONFIG),--config-file '$(CONFIG)')

# The cloud is made anew each time, and nothing of the configuration for `serve` applies.
demo: $(CLIENT)
	@exec env -u OS_PLACEMENT_CONFIG_DIR -u OS_PLACEMENT_DATABASE__CONNECTION \
	    $(BIN)/placement-demo --state-dir state-demo $(if $(PORT),--port '$(PORT)')

# What a demonstration that runs has printed; its commands are in .venv/bin.
demo-questions: $(CLIENT)
	@exec $(BIN)/placement-demo --questions $(if $(PORT),--port '$(PORT)')

# The layer check is one of the unit tests.
test: $(TESTABLE)
	@echo '==> unit tests, gabbi tests and layer check'
	@$(BIN)/pytest $(SHARED_OUT) placement/tests placement_insight/tests $(COMMANDS) $(REPORT_CLIENT)
	@$(MAKE) --no-print-directory lint

# Changed since the last commit, as the ids of their tests.
CHANGED_GABBITS = $(patsubst %.yaml,placement/tests/functional/test_gabbi.py::test_gabbi_file[%], $(notdir \
    $(shell git ls-files --modified --others --exclude-standard 'gabbits/*.yaml' 'placement_insight/gabbits/*.yaml')))

quick: $(TESTABLE)
	@echo '==> unit tests, and the gabbi files that are changed'
	@$(BIN)/pytest $(SHARED_OUT) placement/tests/unit placement_insight/tests/unit $(CHANGED_GABBITS)
	@$(MAKE) --no-print-directory lint

test-upstream: $(TESTABLE) $(UPSTREAM_PYTHON)
	@echo '==> answers of this service and of upstream, side by side, insight beside upstream, and a rehearsal'
	@PLACEMENT_TEST_UPSTREAM_PYTHON=$(abspath $(UPSTREAM_PYTHON)) \
	    $(BIN)/pytest $(addprefix placement/tests/databases/test_, same_answers.py beside.py rehearsal.py)
	@echo '==> client tests against upstream'
	@PLACEMENT_TEST_SERVICE_PYTHON=$(abspath $(UPSTREAM_PYTHON)) \
	    $(BIN)/pytest $(REPORT_CLIENT)

test-mariadb: export PLACEMENT_TEST_DATABASE_URL = $(PLACEMENT_TEST_MARIADB_URL)
test-postgresql: export PLACEMENT_TEST_DATABASE_URL = $(PLACEMENT_TEST_POSTGRESQL_URL)
# With all questions below /insight and with none of them; the API has to be the same.
test-mariadb: export PLACEMENT_TEST_INSIGHT = on
test-postgresql: export PLACEMENT_TEST_INSIGHT = off
# What does not depend on the database is left to `make test`.
OF_ANY_DATABASE := $(addprefix --ignore=placement/tests/functional/test_, \
    gabbi_coverage.py input_size.py openapi.py rehearsal.py)
test-mariadb test-postgresql: $(TESTABLE)
	@echo '==> $@: gabbi tests and other functional tests'
	@$(BIN)/pytest $(SHARED_OUT) $(OF_ANY_DATABASE) placement/tests/functional \
	    placement_insight/tests/functional

test-faults: $(TESTABLE)
	@echo '==> fault injection: workers, database servers and connections'
	@$(BIN)/pytest placement/tests/databases/test_faults.py
	@echo '==> fault injection: lost replies to COMMIT'
	@for url in '$(PLACEMENT_TEST_MARIADB_URL)' '$(PLACEMENT_TEST_POSTGRESQL_URL)'; do \
	    PLACEMENT_TEST_DATABASE_URL="$$url" PLACEMENT_TEST_LOST_COMMIT_ROUNDS=10 \
	        $(BIN)/pytest placement/tests/functional/test_lost_commits.py || exit; \
	done

test-clusters: $(TESTABLE)
	@echo '==> read replicas, clusters, a pooler, and restarts of database servers'
	@$(BIN)/pytest $(SHARED_OUT) $(addprefix placement/tests/databases/test_, \
	    durability.py galera.py galera_haproxy.py postgresql_haproxy.py poolers.py replicas.py)

test-upgrade: $(TESTABLE) $(UPSTREAM_PYTHON)
	@echo '==> upgrade from upstream, and rollback'
	@PLACEMENT_TEST_UPSTREAM_PYTHON=$(abspath $(UPSTREAM_PYTHON)) \
	    $(BIN)/pytest placement/tests/databases/test_upgrade.py
	@echo '==> workers of the release before beside workers of this one'
	@$(BIN)/pytest placement/tests/databases/test_two_releases.py
	@echo '==> distributions: source archive, wheel, and upstream replaced by it'
	@$(BIN)/pytest $(addprefix placement/tests/servers/test_, distribution.py release.py)

# A short run of `make region` with each database: one round of the faults that concern most of it.
OF_MOST := Keystone is away|lost|instance is killed|node is killed|promoted
# A shell between would leave all servers behind when make is stopped.
# Patient, since CI may be busy; how long something takes is measured by `make region`.
test-region: $(TESTABLE)
	@echo '==> a region with each database while faults happen'
	@exec $(BIN)/python -m placement.tests.region --database galera --minutes 1 --patience 5 --only '$(OF_MOST)'
	@exec $(BIN)/python -m placement.tests.region --database postgresql --minutes 1 --patience 5 --only '$(OF_MOST)'

# A fresh build each time: an incremental one repeats no warning of an unchanged page, and keeps
# pages whose source is gone.
docs: $(DOCUMENTABLE)
	@echo '==> doc/build/html'
	@rm -rf doc/build/html
	@$(SPHINX) doc/source doc/build/html

changelog: $(DOCUMENTABLE)
	@$(BIN)/python doc/extensions/release_notes.py CHANGELOG.rst

# The same bytes whenever they are built: all times are that of the commit.
dist: export SOURCE_DATE_EPOCH = $(or $(shell git log -1 --format=%ct 2>/dev/null),315532800)
dist: changelog
	@echo '==> dist'
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist >/dev/null
	@$(BIN)/python -m build --no-isolation --outdir dist $(COMMANDS) >/dev/null
	@$(BIN)/python -m build --no-isolation --outdir dist $(REPORT_CLIENT) >/dev/null
	@$(BIN)/python tools/bill_of_materials.py dist/openstack_placement.cdx.json etc/placement/requirements*.txt
	@$(BIN)/python tools/release_files.py dist
	@cd dist && sha256sum --check --quiet SHA256SUMS

# Tags the commit, and leaves everything that is published in dist.
release: $(DOCUMENTABLE)
	@$(BIN)/python tools/release.py '$(VERSION)'

# These create virtual environments of their own in the directory for temporary files.
test-apache: $(TESTABLE)
	@echo '==> gabbi tests under Apache, uWSGI and gunicorn'
	@$(BIN)/pytest $(SHARED_OUT) $(addprefix placement/tests/servers/test_, \
	    recipes.py high_availability.py wsgi_servers.py log.py)

test-attacks: $(TESTABLE)
	@echo '==> slow, malformed and forged requests to each web server'
	@$(BIN)/pytest $(SHARED_OUT) $(addprefix placement/tests/servers/test_, bounds.py fuzz.py front_ends.py)

test-metrics: $(TESTABLE)
	@echo '==> metrics under each web server, and Prometheus'
	@$(BIN)/pytest placement/tests/servers/test_metrics.py

test-core: $(TESTABLE)
	@echo '==> the core without insight'
	@$(BIN)/python tools/core_tests.py $(SHARED_OUT)

test-keystone: $(TESTABLE)
	@echo '==> tests with Keystone'
	@$(BIN)/pytest placement/tests/servers/test_keystone.py

test-ui: $(TESTABLE) $(AXE) $(TYPESCRIPT)
	@echo '==> types of the page'
	@$(TYPESCRIPT) --project tsconfig.json
	@echo '==> the page in Chromium'
	@PLACEMENT_TEST_AXE=$(abspath $(AXE)) $(BIN)/pytest placement/tests/servers/test_ui.py

test-install: $(TESTABLE)
	@echo '==> instructions of the pages, on new machines with Debian'
	@$(BIN)/pytest $(SHARED_OUT) $(addprefix placement/tests/servers/test_, install.py containers.py)

# Before a release; ARGS are those of `python -m placement.tests.platforms --help`.
platforms: export PLACEMENT_TEST_LOST_COMMIT_ROUNDS ?= 10
platforms: $(TESTABLE) $(UPSTREAM_PYTHON)
	@exec $(BIN)/python -m placement.tests.platforms --upstream $(abspath $(UPSTREAM_PYTHON)) \
	    $(subst $(NEWLINE), ,$(ARGS)) $(PLATFORMS)

# UPSTREAM is a Python that has upstream, of an environment of the operator; without it one is made.
rehearse: $(TESTABLE) $(if $(UPSTREAM),,$(UPSTREAM_PYTHON))
	@test -n '$(DUMP)' -a -n '$(LOG)' || { \
	    echo 'make rehearse DUMP=FILE LOG=access.log UPSTREAM=PYTHON: name the files' >&2; exit 2; }
	@exec $(BIN)/python -m tools.rehearse --dump '$(DUMP)' --log '$(LOG)' \
	    --upstream '$(or $(UPSTREAM),$(UPSTREAM_PYTHON))' $(subst $(NEWLINE), ,$(ARGS))

lint: $(TESTABLE)
	@echo '==> ruff, check and format'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@echo '==> mypy'
	@$(BIN)/mypy

hooks: $(TESTABLE)
	@$(PIP_INSTALL) --editable '.[dev]'
	@$(BIN)/pre-commit install

# ARGS are those of `python -m benchmarks --help`, and of `python -m benchmarks.workers --help`.
# They may have several lines, each of which would otherwise be a command of its own.
define NEWLINE


endef

bench: $(MEASURABLE)
	@$(BIN)/python -m benchmarks $(subst $(NEWLINE), ,$(ARGS))

bench-workers: $(MEASURABLE)
	@$(BIN)/python -m benchmarks.workers $(subst $(NEWLINE), ,$(ARGS))

# One table after the other for the section "Large clouds" of doc/source/performance.rst.
bench-load: DB ?= mariadb
bench-load: HOSTS ?= 1000,10000,130000
bench-load: TREES ?= 1000,125000
bench-load: POOLS ?= 1x4,2x4,4x4
bench-load: $(MEASURABLE)
	@$(BIN)/python -m benchmarks --db $(DB) --sizes $(HOSTS) --api 100 --seconds 3 --limit 60 \
	    --only 'search flat' --only 'scheduling cycle' --only 'claim cycle' --only 'POST with' \
	    --only 'one host' --only 'start and'
	@$(BIN)/python -m benchmarks --sizes $(TREES) --api 100 --seconds 3 --limit 60 \
	    --only 'in trees of eight' --only 'start and'
	@$(BIN)/python -m benchmarks --sizes $(HOSTS) --api 100 --only bulk
	@$(BIN)/python -m benchmarks.workers --db $(DB) --sizes 10000 --pools $(POOLS) --clients 4,16,64
	@$(BIN)/python -m benchmarks.schedulers --db $(DB) --schedulers 32 --full 95 --independent --rounds 20

region: $(TESTABLE)
	@exec $(BIN)/python -m placement.tests.region $(if $(DATABASE),--database '$(DATABASE)') $(subst $(NEWLINE), ,$(ARGS))

mutants: $(TESTABLE)
	@$(BIN)/python tools/mutants.py $(subst $(NEWLINE), ,$(ARGS))

clean:
	@echo '==> removing environments, caches and built pages'
	@rm -rf $(VENV) $(UPSTREAM_HOME) .axe state-demo .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info $(COMMANDS)/*.egg-info $(REPORT_CLIENT)/*.egg-info \
	    CHANGELOG.rst doc/build doc/source/api-ref
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Created once, and again when one of these files is newer.
$(READY): constraints.txt setup.cfg setup.py
	@command -v $(PYTHON) >/dev/null || { \
	    echo '$(PYTHON) not found: install Python 3.11 or later, or name it: make PYTHON=...' >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "$(PYTHON) is too old, $$($(PYTHON) -V 2>&1): Python 3.11 or later is needed" >&2; \
	    exit 1; }
	@echo '==> creating the Python environment in $(VENV)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { \
	    echo '$(PYTHON) cannot create a virtual environment: is its venv module installed?' >&2; \
	    exit 1; }
	@echo '==> installing the service, a minute or so the first time'
	@$(PIP_INSTALL) setuptools
	@$(PIP_INSTALL) --editable .
	@touch $@

$(CLIENT): $(READY) $(COMMANDS)/setup.cfg
	@echo '==> installing the openstack client with its commands for the service, in .venv/bin'
	@$(PIP_INSTALL) 'python-openstackclient>=6.0' --editable ./$(COMMANDS)
	@touch $@

$(TESTABLE): $(READY) $(COMMANDS)/setup.cfg $(REPORT_CLIENT)/setup.cfg
	@echo '==> installing the requirements of the tests'
	@$(PIP_INSTALL) --editable '.[test]' --editable ./$(COMMANDS) --editable ./$(REPORT_CLIENT)
	@touch $@

$(DOCUMENTABLE): $(READY)
	@echo '==> installing Sphinx and its extensions'
	@$(PIP_INSTALL) --editable '.[docs]'
	@touch $@

$(MEASURABLE): $(READY)
	@echo '==> installing a web server and database drivers'
	@$(PIP_INSTALL) --editable '.[bench,mysql,postgresql]'
	@touch $@

# It checks pages for what keeps people out; nothing of it is in the page.
$(AXE):
	@echo '==> installing axe-core and typescript in .axe'
	@npm install --silent --no-save --prefix .axe axe-core@4.14.1 typescript@7.0.2

$(TYPESCRIPT): $(AXE)

$(UPSTREAM_HOME)/bin/python:
	@echo '==> installing upstream (openstack-placement 16) in $(UPSTREAM_HOME)'
	@$(PYTHON) -m venv $(UPSTREAM_HOME)
	@$(UPSTREAM_HOME)/bin/python tools/pip_install.py \
	    openstack-placement==16.0.0 psycopg2-binary PyMySQL waitress || { rm -rf $(UPSTREAM_HOME); exit 1; }
