# Every target sets up what it needs. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup ci lint format types test package site newest changelog release unit durations record incremental functional conformance corpus airflow clients iceberg lake matrix browser faults soak demo serve bench docs clean

python := .venv/bin/python
# How many jobs run in parallel: one more than there are cores in CI, as each waits for a part of its time.
LANES ?= 3
# Suites of tests/functional; each runs in a process (and a JVM) of its own. Lanes take the longest
# jobs of the recorded run first, and in this order where none was recorded.
longest = $(addprefix tests/functional/,engine/ refreshes/ processes/ adapter/ examples/ streams/)
functional_suites = $(longest) $(filter-out %/__pycache__/ $(longest),$(sort $(wildcard tests/functional/*/)))

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1: /p' $(MAKEFILE_LIST) | column -t -s: 2>/dev/null || true

setup: ## make .venv with the pinned packages, fetch the jars, archive Spark's classes; quick when done
	@tools/setup.sh

ci: lint ## all that CI checks after set-up, in three lanes
	@$(python) tools/run_suites.py --lanes $(LANES) -m "not conformance" -- $(longest) tests/unit make:newest make:package $(filter-out $(longest),$(functional_suites)) make:types make:site

lint: setup ## ruff: rules and format
	$(python) -m ruff check .
	$(python) -m ruff format --check .

format: setup ## let ruff fix what it can
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

types: setup ## mypy --strict
	$(python) -m mypy

test: setup ## the unit and functional tests that CI runs
	@$(python) tools/run_suites.py --lanes $(LANES) -m "not conformance" -- $(functional_suites) tests/unit

unit: setup ## the fast tests, no Spark
	@$(python) tools/run_suites.py -- tests/unit

newest: setup ## Apache Iceberg on Spark 4.1, in short, and what only the newest dbt has; a part of the matrix
	@$(python) -m tools.matrix --only tests/iceberg newest-dbt

durations: ## where the time of the last runs went: the slowest files and tests
	@$(python) tools/run_suites.py --durations

record: setup ## keep the durations of the last `make ci`: for the order of jobs, and on the page
	@$(python) tools/run_suites.py --record
	@$(python) -m tests.functional.adapter.conformance

incremental: setup ## changes of query results against a recompute, in DuckDB and on Spark; INCREMENTAL_CASES, INCREMENTAL_SHAPES, INCREMENTAL_TREES, INCREMENTAL_SEED=…
	@$(python) tools/run_suites.py -- $(sort $(wildcard tests/incremental/test_*.py)) tests/incremental/spark/

functional: setup ## the tests on real Spark and Delta that CI runs
	@$(python) tools/run_suites.py --lanes $(LANES) -m "not conformance" -- $(functional_suites)

conformance: setup ## all of dbt's adapter tests, and every guarantee on Delta; an hour and more
	@$(python) tools/run_suites.py -- $(addprefix tests/functional/,adapter/ corpus/ engine/ manager/ processes/ refreshes/ streams/)

corpus: setup ## TPC-DS and Spark's SQL tests as materialized tables; continues where it ended; CORPUS_ONLY, CORPUS_SHARE, CORPUS_SEED, CORPUS_MINUTES=…, CORPUS_SHARD=1/2, CORPUS_PUBLISH=1
	@$(python) -m tests.corpus

airflow: setup ## the DAGs of materialized tables in Airflow itself, in an environment of its own; 2 minutes
	@tests/airflow/setup.sh
	@.work/airflow/bin/python -m pytest -c tests/airflow/pytest.ini tests/airflow

clients: setup ## plain SQL of dbt-spark, dbt v2 and SQLMesh, in environments without this package; 10 minutes
	@tests/clients/setup.sh
	@$(python) tools/run_suites.py -- tests/clients/

iceberg: setup ## tables and sources of Apache Iceberg, with Spark 4.1 in an environment of its own, in a Hive Metastore on PostgreSQL and in a REST catalog; 40 minutes
	@tests/iceberg/setup.sh
	@.work/iceberg/venv/bin/python -m pytest -q -p no:cacheprovider tests/iceberg

lake: setup ## tables on S3, on a standalone cluster and in a Hive Metastore, with workers and drivers killed; an S3 server in an environment of its own; LAKE_KILLS, LAKE_SOAK_SECONDS=…
	@tests/lake/setup.sh
	@$(python) tools/run_suites.py -- tests/lake/s3/ tests/lake/cluster/ tests/lake/catalogs/ tests/lake/metastore/ tests/lake/together/

matrix: setup ## the wheel with each supported Python, dbt, Spark and Delta Lake, in environments of their own; MATRIX_LANES="oldest newest", MATRIX_ONLY=…; 10 minutes a lane
	@$(python) -m tools.matrix --only "$(MATRIX_ONLY)" $(MATRIX_LANES)

browser: setup ## the tests of the status page in a real Chromium, which is installed if need be
	@$(python) tools/run_suites.py -- tests/functional/pages/

faults: setup ## kill processes, fill disks, drop tables, small heaps; seed: FAULTS_SEED=…; some 65 minutes
	@$(python) tools/run_suites.py -- tests/faults/

soak: setup ## a hosted table while everything happens to it, and what a manager uses; 45 minutes; SOAK_SECONDS, SOAK_BUSY_SECONDS, SOAK_REST_SECONDS=…
	@$(python) tools/run_suites.py -s -- tests/soak/

demo: setup ## the flights example on real data, from start to end
	@$(python) examples/flights/demo.py

serve: setup ## keep the tables of the demo fresh, with its page at http://127.0.0.1:8765
	@cd .work/flights && $(CURDIR)/$(python) $(CURDIR)/examples/flights/managed.py

package: setup ## build wheel and sdist, check them, install the wheel in an empty environment and build a small project there
	@tools/package.sh

site: setup ## build the documentation site into .work/site/html; broken links are errors
	@tools/site.sh

changelog: setup ## write the section of this version in CHANGELOG.md from the fragments in changes/, which stay
	$(python) tools/changelog.py

release: setup package site ## the same for the last time, with today's date; deletes the fragments; commit and tag afterwards
	$(python) tools/changelog.py --release

bench: setup ## measure against dbt-spark's own tables and hand-written streams; an hour and more
	@$(python) -m benchmarks

docs: setup ## write the pages of docs/ that are generated from the code
	$(python) tools/generate_docs.py

clean: ## remove .venv, caches, and .work with its environments, reports and the demo
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .work
