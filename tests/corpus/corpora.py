"""Corpora of queries that others wrote, run in one Spark session after another's interruption."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.corpus import tpcds
from tests.corpus.queries import Query
from tests.corpus.run import Workplace, refused_by_spark, relations, without_tables
from tests.corpus.scripts import (
    NESTED_SOURCES,
    Kind,
    alternatives,
    common_sources,
    scripts,
    temporary_query,
)
from tests.corpus.sources import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date

    from pyspark.sql import SparkSession

    from tests.corpus.jars import TestsJar
    from tests.corpus.results import Result
    from tests.corpus.scripts import Script, Statement
    from tests.corpus.sources import Source

CONFS = {"spark.sql.adaptive.enabled": "true"}
"""What the Spark of the tests of the engine lacks to plan as a user's does."""
_OF_FILES = 0.5
"""Files are drawn with this power of the share, and the queries of a file with the rest."""
_THREADS = 2
_TOGETHER = 6
"""Queries whose sources are changed together: an interruption loses what these did."""
_PROPERTIES = (
    "'delta.enableChangeDataFeed' = 'true'",
    "'delta.enableDeletionVectors' = 'true'",
    "'delta.enableDeletionVectors' = 'false'",
)
"""Each source has one of these: the ways in which Delta records what a commit changed."""


@dataclass(frozen=True)
class Selection:
    """Which queries to run.

    Args:
        only: A pattern of names, as for files.
        share: The share of the queries.
        seed: The seed of the share, the rows and the changes.
        deadline: When to begin no more queries, on the monotonic clock.
        shard: Which of how many parts of them, that processes run in parallel; from 1 on.
    """

    only: str = "*"
    share: float = 1.0
    seed: int = 31
    deadline: float = float("inf")
    shard: tuple[int, int] = (1, 1)

    @classmethod
    def of_environment(cls, share: float = 1.0) -> Selection:
        """Read CORPUS_ONLY, CORPUS_SHARE, CORPUS_SEED, CORPUS_MINUTES and CORPUS_SHARD."""
        number, of = os.environ.get("CORPUS_SHARD", "1/1").split("/")
        minutes = float(os.environ.get("CORPUS_MINUTES", "inf"))
        return cls(
            os.environ.get("CORPUS_ONLY", "*"),
            float(os.environ.get("CORPUS_SHARE", share)),
            int(os.environ.get("CORPUS_SEED", "31")),
            time.monotonic() + minutes * 60,
            (int(number), int(of)),
        )

    def of_shard(self, number: int) -> bool:
        """Whether a job is one of the shard, by its number."""
        return number % self.shard[1] == self.shard[0] - 1

    def has(self, name: str) -> bool:
        """Whether a query is to be run: files are drawn first, as their set-up takes longer."""
        file, _, is_of_file = name.partition("#")
        if not fnmatch(name, self.only):
            return False
        if not is_of_file:
            return self._draws(name, 1.0)
        return self._draws(file, _OF_FILES) and self._draws(name, 1 - _OF_FILES)

    def _draws(self, name: str, exponent: float) -> bool:
        return Choice(f"{self.seed} {name}").random() < self.share**exponent

    def described(self, day: date) -> str:
        """Say for the documentation which queries ran."""
        which = "all queries" if self.only == "*" else f"the queries `{self.only}`"
        share = "" if self.share >= 1 else f", a share of {self.share:g}"
        over = " It ended by its limit of time, before all of them." if self.is_over else ""
        seed = f"with `CORPUS_SEED={self.seed}`"
        return f"The run of {day.isoformat()}: {which}{share}, {seed}.{over}"

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.deadline


@dataclass(frozen=True)
class Run:
    """One run over the corpora.

    Args:
        spark: The Spark of the run.
        jar: The jar of Spark's tests.
        selection: Which queries to run.
        known: The names of queries that an earlier run finished.
        finished: Takes each result.
    """

    spark: SparkSession
    jar: TestsJar
    selection: Selection
    known: frozenset[str]
    finished: Callable[[Result], None]

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Run some of the corpora, in two threads: Spark plans a query in one."""
        with ThreadPoolExecutor(_THREADS) as pool:
            for done in [pool.submit(self._begin, job) for job in jobs]:
                done.result()

    def _begin(self, job: Callable[[], None]) -> None:
        if not self.selection.is_over:
            job()

    def tpcds(self) -> Iterator[Callable[[], None]]:
        """Yield what runs the queries of TPC-DS, some of them at a time."""
        for number, together in enumerate(_chunks(tpcds.queries(self.jar), _TOGETHER)):
            pending = [query for query in together if self._is_pending(query.name)]
            if pending and self.selection.of_shard(number):
                yield partial(self._run_together, together, pending)

    def _run_together(self, queries: Sequence[Query], pending: Sequence[Query]) -> None:
        """Run queries; the rows and changes are those for all queries of their group."""
        plan = tpcds.plan(queries, tpcds.tables(self.jar), self.selection.seed)
        with _place(self.spark) as session:
            _create(session, plan.sources)
            place = Workplace(session, self.selection.seed, self.finished)
            place.run(pending, plan.changes)

    def sql_tests(self) -> Iterator[Callable[[], None]]:
        """Yield what runs the queries of Spark's SQL tests, one file at a time."""
        for number, each in enumerate(scripts(self.jar)):
            pending = [name for name in names(each) if self._is_pending(name)]
            if pending and self.selection.of_shard(number):
                yield partial(self._play, each, frozenset(pending))

    def _play(self, script: Script, pending: frozenset[str]) -> None:
        with _place(self.spark) as session:
            _Player(self, session, script, pending).play()

    def _is_pending(self, name: str) -> bool:
        return self.selection.has(name) and name not in self.known


def names(script: Script) -> tuple[str, ...]:
    """Return the names of the queries of a file, in their order."""
    count = sum(each.kind is Kind.QUERY for each in script.statements)
    return tuple(f"{script.name}#{number}" for number in range(1, count + 1))


@dataclass
class _Player:
    """The statements of one file, run in their order."""

    run: Run
    session: SparkSession
    script: Script
    wanted: frozenset[str]

    def play(self) -> None:
        """Run the statements; queries wait until a statement changes what they mean."""
        self._waiting: list[Query] = []
        self._sources: set[str] = set()
        self._place = Workplace(self.session, self.run.selection.seed, self.run.finished)
        self._create_common()
        for key, value in self.script.confs:
            _attempt(self.session, f"SET {key} = {value}")
        numbered = iter(names(self.script))
        for statement in self.script.statements:
            if statement.kind is Kind.QUERY:
                self._keep(Query(next(numbered), statement.text))
            else:
                self._apply(statement)
        self._run_waiting()

    def _create_common(self) -> None:
        texts = " ".join(each.text.lower() for each in self.script.statements)
        _create(self.session, [s for s in common_sources(self.run.jar) if s.name in texts])
        for name, query in NESTED_SOURCES.items():
            if name in texts:
                self.session.sql(f"CREATE TABLE {name} USING delta AS {query}")

    def _keep(self, query: Query) -> None:
        if query.name not in self.wanted:
            return
        try:
            read = relations(self.session, query.text)
        except Exception as error:  # noqa: BLE001 - some queries are there to be refused
            self.run.finished(refused_by_spark(query, self.run.selection.seed, error))
            return
        if not read:
            self.run.finished(without_tables(query, self.run.selection.seed))
            return
        self._waiting.append(query)
        self._sources |= read

    def _apply(self, statement: Statement) -> None:
        if statement.kind is Kind.CHANGES:
            self._run_waiting()
        query = temporary_query(statement.text)
        try:
            reads_tables = query is not None and bool(relations(self.session, query))
        except Exception:  # noqa: BLE001 - as in `_keep`
            reads_tables = False
        for text in alternatives(statement.text, reads_tables=reads_tables):
            if _attempt(self.session, text):
                return

    def _run_waiting(self) -> None:
        if self._waiting:
            tables = [t.name for t in self.session.catalog.listTables() if t.tableType != "VIEW"]
            changed = sorted(self._sources & set(tables))
            for together in _chunks(self._waiting, _TOGETHER):
                self._place.run(together, changed)
        self._waiting, self._sources = [], set()


def _attempt(session: SparkSession, statement: str) -> bool:
    try:
        session.sql(statement)
    except Exception:  # noqa: BLE001 - some statements are there to be refused
        return False
    return True


def _create(session: SparkSession, sources: Iterable[Source]) -> None:
    for source, properties in zip(sources, cycle(_PROPERTIES), strict=False):
        columns = ", ".join(f"{each.quoted} {each.type}" for each in source.columns)
        session.sql(
            f"CREATE TABLE {source.name} ({columns}) USING delta TBLPROPERTIES ({properties})"
        )
        if source.rows:
            session.sql(f"INSERT INTO {source.name} {source.selected(source.rows)}")


@contextmanager
def _place(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose current schema is one of its own, dropped at the end."""
    session = spark.newSession()
    schema = f"corpus_{uuid4().hex[:8]}"
    session.sql(f"CREATE SCHEMA {schema}")
    session.sql(f"USE {schema}")
    yield session
    spark.newSession().sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def _chunks(queries: Sequence[Query], size: int) -> Iterator[tuple[Query, ...]]:
    remaining = iter(queries)
    while chunk := tuple(islice(remaining, size)):
        yield chunk
