"""Contexts and ends of private sessions, over a fake session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import QueryContext
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions, enter_context

PySparkException = pytest.importorskip("pyspark.errors").PySparkException
ZONE = "spark.sql.session.timeZone"
BERLIN = QueryContext("spark_catalog", "sales", ((ZONE, "Europe/Berlin"),))


class Conf:
    """Confs of a session, which are costly to read."""

    def __init__(self):
        self.values, self.reads = {}, 0

    @property
    def getAll(self):  # noqa: N802 - as in PySpark
        self.reads += 1
        return dict(self.values)

    def set(self, key, value):
        self.values[key] = value

    def unset(self, key):
        del self.values[key]


class Session:
    """A session of Spark Connect, whose schemas may be gone."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self):
        self.conf, self.current, self.gone = Conf(), ("spark_catalog", "default"), set()
        self.catalog = SimpleNamespace(
            currentCatalog=lambda: self.current[0], currentDatabase=lambda: self.current[1]
        )

    def cloneSession(self):  # noqa: N802 - as in PySpark
        clone = Session()
        clone.client = self.client
        return clone

    def sql(self, statement):
        catalog, schema = statement.removeprefix("USE ").replace("`", "").split(".")
        if schema in self.gone:
            raise LookupError(schema)
        self.current = (catalog, schema)


def test_a_context_that_a_session_has_is_not_set_again():
    session = Session()
    for _ in range(3):
        enter_context(session, BERLIN)
    assert session.conf.reads == 1
    assert session.conf.values[ZONE] == "Europe/Berlin"
    assert session.current == ("spark_catalog", "sales")


def test_another_context_is_set_and_another_session_has_its_own():
    session, other = Session(), Session()
    enter_context(session, BERLIN)
    enter_context(other, BERLIN)
    enter_context(session, QueryContext("spark_catalog", "hr", ((ZONE, "UTC"),)))
    assert (session.conf.values[ZONE], session.current[1]) == ("UTC", "hr")
    assert (other.conf.values[ZONE], other.current[1]) == ("Europe/Berlin", "sales")
    enter_context(session, BERLIN)
    assert (session.conf.values[ZONE], session.current[1]) == ("Europe/Berlin", "sales")


def test_a_context_that_failed_is_set_again():
    session = Session()
    enter_context(session, BERLIN)
    session.gone = {"hr"}
    with pytest.raises(LookupError):
        enter_context(session, QueryContext("spark_catalog", "hr", ()))
    enter_context(session, BERLIN)
    assert session.conf.values[ZONE] == "Europe/Berlin"
    assert session.conf.reads == 3


class Client:
    """A client of Spark Connect whose server lost an executor just now."""

    def __init__(self):
        self.closed = 0

    def get_retry_policies(self):
        return []

    def set_retry_policies(self, policies):
        assert policies == []

    def enable_reattachable_execute(self):
        pass

    def release_session(self):
        raise PySparkException(message="lost")

    def close(self):
        self.closed += 1


def test_a_session_that_cannot_be_released_fails_no_statement():
    user = Session()
    user.client = Client()
    with PrivateSessions(user).open() as private:
        assert private.spark is not user
    assert user.client.closed == 1


def test_the_error_of_a_statement_is_kept():
    user = Session()
    user.client = Client()
    with pytest.raises(LookupError, match="of the statement"), PrivateSessions(user).open():
        raise LookupError("of the statement")  # noqa: EM101, TRY003 - a test
