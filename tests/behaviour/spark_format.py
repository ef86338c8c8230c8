"""Tables of a format on Spark, to try the contract of table formats on."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName, quote, quote_text
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error
from tests.behaviour.table_format import DDL, FormatWorld
from tests.unit.builders import columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_S = 60


class SparkWorld(FormatWorld):
    """A schema of a catalog, in a session.

    Args:
        session: The session.
        catalog: The catalog.
        schema: The schema.
    """

    def __init__(self, session: SparkSession, catalog: str, schema: str) -> None:
        self._spark, self._place = session, (schema, catalog)
        environment = SparkEnvironment(session)
        self._sessions, self._details = environment.sessions, environment.details
        self.tables = self._details.written(self.name("t"))

    @contextmanager
    def session(self):
        with self._sessions.open() as opened:
            yield opened.spark

    def name(self, name):
        return TableName(name, *self._place)

    def ref(self, name):
        self._details.forget()
        return self._details.of(name)

    def made(self, rows, ddl=DDL):
        values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
        named = columns(ddl)
        casts = ", ".join(f"CAST({quote(c.name)} AS {c.type}) AS {quote(c.name)}" for c in named)
        return f"SELECT {casts} FROM VALUES {values} AS _({', '.join(c.name for c in named)})"

    def read(self, rows):
        with self.session() as session:
            return sorted(map(tuple, session.sql(rows).collect()), key=repr)

    def rows(self, name, version=None):
        if version is None:
            return self.read(f"SELECT * FROM {name.sql}")
        table = self.ref(name)
        rows = self.read(f"SELECT * FROM {self.tables.as_of(table, version)}")
        with self.session() as session:
            opened = self.tables.opened(session, table, version)
            found = sorted(map(tuple, session.sql(f"SELECT * FROM {opened}").collect()), key=repr)
        assert found == rows
        return rows

    def columns(self, name):
        return self._spark.table(name.sql).columns

    def properties(self, name):
        return self._details.properties(name)

    def condition_of(self, error):
        return failure_of(error).main_condition

    def is_missing(self, error):
        return is_spark_error(error) and failure_of(error).is_missing_table

    def is_unreadable(self, error):
        """Formats have conditions of their own for commits; Spark's report missing files."""
        return failure_of(error).is_unreadable_version

    def update(self, name, key, value):
        self._spark.sql(f"UPDATE {name.sql} SET v = {quote_text(value)} WHERE k = {key}")

    def delete(self, name, key):
        self._spark.sql(f"DELETE FROM {name.sql} WHERE k = {key}")

    def drop(self, name):
        self._spark.sql(f"DROP TABLE {name.sql}")

    def violate(self, name):
        self._spark.sql(f"INSERT INTO {name.sql} VALUES (9, NULL)")

    def conflict(self, name, number, by):
        """The second writer commits while the query of the first one runs, and waits for it."""
        caught = []
        with TemporaryDirectory() as folder:
            runs, committed = Path(folder, "runs"), Path(folder, "committed")

            def late():
                runs.touch()
                _wait_for(committed)
                return "late"

            def write(session):
                session.udf.register("late", late)
                self.tables.overwrite(session, name, "SELECT 9 AS k, late() AS v")

            def commit():
                with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever PySpark raises
                    self.commit(number, lambda session, _: write(session), name)
                caught.append(failed.value)

            thread = threading.Thread(target=commit)
            thread.start()
            _wait_for(runs)
            assert self.commit(by, self.tables.append, name, self.made([(3, "c")])) is not None
            committed.touch()
            thread.join()
        return caught[0]


def _wait_for(file):
    end = time.monotonic() + _MOST_S
    while not file.exists():
        assert time.monotonic() < end, f"{file} is still missing"
        time.sleep(0.01)


def _literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return f"array({', '.join(map(_literal, value))})"
    return quote_text(value) if isinstance(value, str) else str(value)
