"""Refreshes of the queries of TPC-DS after changes of their sources, next to INSERT OVERWRITE.

DuckDB's generator makes the tables (`benchmarks.tpcds_rows`), and the queries are those of Spark's
tests. Before each round, rows of all fact tables, and of the items, customers and addresses, are
inserted, updated and deleted, a third each. Then each query's table is refreshed, and the query
overwrites another table. In each round the rows of both are compared.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import incremental, tpcds_rows
from benchmarks.report import Measurement, progress, seconds_of
from dbt.adapters.spark_mt.api import MaterializedTableError, MaterializedTables
from tests.corpus import tpcds
from tests.corpus.comparison import difference
from tests.corpus.jars import tests_jar
from tests.corpus.run import codes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from tests.corpus.queries import Query

PART = "tpcds"
SHARE = 0.0003
"""Part of the rows of each table that changes."""
MOST = 1.5
"""How many times as long as the query a refresh by changes may take."""
_SCHEMA = "tpcds"
_FOLDER = f"{tpcds.FOLDERS[0]}/"
_RENAMED = {"c_last_review_date_sk": "c_last_review_date"}
"""Columns that have another name in Spark's queries, which are of an older specification."""
_KIND = 3
_BLOCK = 26
"""As many queries have tables at a time, so that a run that is stopped has figures."""


@dataclass(frozen=True, slots=True)
class _Changed:
    """How the rows of a table change.

    Args:
        key: The column that is another one in a copy that is inserted.
        numbers: Columns to which an update adds 1.
    """

    key: str
    numbers: tuple[str, ...]


_CHANGED = {
    "store_sales": _Changed(
        "ss_ticket_number",
        ("ss_quantity", "ss_sales_price", "ss_ext_sales_price", "ss_net_paid", "ss_net_profit"),
    ),
    "store_returns": _Changed("sr_ticket_number", ("sr_return_quantity", "sr_return_amt")),
    "catalog_sales": _Changed(
        "cs_order_number",
        ("cs_quantity", "cs_sales_price", "cs_ext_sales_price", "cs_net_paid", "cs_net_profit"),
    ),
    "catalog_returns": _Changed("cr_order_number", ("cr_return_quantity", "cr_return_amount")),
    "web_sales": _Changed(
        "ws_order_number",
        ("ws_quantity", "ws_sales_price", "ws_ext_sales_price", "ws_net_paid", "ws_net_profit"),
    ),
    "web_returns": _Changed("wr_order_number", ("wr_return_quantity", "wr_return_amt")),
    "inventory": _Changed("inv_item_sk", ("inv_quantity_on_hand",)),
    "item": _Changed("i_item_sk", ("i_current_price",)),
    "customer": _Changed("c_customer_sk", ("c_birth_month",)),
    "customer_address": _Changed("ca_address_sk", ("ca_gmt_offset",)),
}


@dataclass
class _Case:
    """The two tables of a query.

    Args:
        query: The query.
        place: Its number among the queries.
        ours, overwritten: Seconds of each round.
        ways: How ours was refreshed in each round.
        faults: What is wrong.
    """

    query: Query
    place: int
    ours: tuple[float, ...] = ()
    overwritten: tuple[float, ...] = ()
    ways: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The query's name in the specification."""
        return self.query.name.removeprefix(_FOLDER)

    @property
    def table(self) -> str:
        return f"ours{self.place}"

    @property
    def other(self) -> str:
        return f"overwritten{self.place}"


def measure(
    spark: SparkSession,
    folder: Path,
    scale: float,
    samples: int,
    share: float,
    names: Sequence[str],
) -> list[Measurement]:
    """Refresh the table of each query that `strict` accepts.

    Args:
        spark: The session.
        folder: Where the files of the sources go, or where they are.
        scale: The scale of the specification: 1 for 1 GB.
        samples: How often each is measured, after one round that is not counted.
        share: The part of the rows of each table that changes.
        names: Of the queries, such as `q14a`; none for all.
    """
    _load(spark, folder, scale)
    queries = [
        query
        for query in tpcds.queries(tests_jar())
        if query.name.startswith(_FOLDER)
        and (not names or query.name.removeprefix(_FOLDER) in names)
    ]
    tables = MaterializedTables(spark)
    cases: list[_Case] = []
    turns = count()
    for first in range(0, len(queries), _BLOCK):
        block = [*_created(spark, tables, queries[first : first + _BLOCK])]
        for turn in islice(turns, samples + 1):
            progress(f"round {turn}: sources change …")
            for source in _CHANGED:
                _change(spark, source, share, turn)
            for case in block:
                _measure(spark, tables, case, turn)
        for case in block:
            tables.execute(f"DROP MATERIALIZED TABLE {case.table}")
            spark.sql(f"DROP TABLE {case.other}")
        cases += block
    faulty = [case for case in cases if case.faults]
    slow = [case.name for case in cases if sum(case.ours[1:]) > MOST * sum(case.overwritten[1:])]
    progress(f"{len(cases)} of {len(queries)} accepted by strict; {len(faulty)} with a fault")
    progress(f"longer than {MOST} x the query: {len(slow)}: {', '.join(slow)}")
    return [
        Measurement(case.name, case.ours[1:], case.overwritten[1:], most_ratio=MOST)
        for case in cases
    ]


def _load(spark: SparkSession, folder: Path, scale: float) -> None:
    if not list(folder.glob("*.parquet")):
        progress(f"making the tables at scale {scale} …")
        made = [part for package in tpcds_rows.PACKAGES for part in ("--with", package)]
        command = [sys.executable, "-m", "uv", "run", "--quiet", "--no-project", *made]
        script = str(Path(tpcds_rows.__file__))
        command += ["python", script, str(scale), str(folder)]
        subprocess.run(command, check=True)  # noqa: S603 - of this project
    spark.sql(f"CREATE SCHEMA {_SCHEMA}")
    spark.sql(f"USE {_SCHEMA}")
    for file in sorted(folder.glob("*.parquet")):
        columns = spark.table(f"parquet.`{file}`").columns
        listed = ", ".join(f"{name} AS {_RENAMED.get(name, name)}" for name in columns)
        spark.sql(
            f"CREATE TABLE {file.stem} USING delta TBLPROPERTIES ({incremental.SOURCE}) "
            f"AS SELECT {listed} FROM parquet.`{file}`"
        )


def _created(
    spark: SparkSession, tables: MaterializedTables, queries: Iterable[Query]
) -> Iterator[_Case]:
    for place, query in enumerate(queries):
        case = _Case(query, place)
        columns = spark.sql(query.text).columns
        is_distinct = len({name.lower() for name in columns}) == len(columns)
        listed = ", ".join(f"c{number}" for number in range(len(columns)))
        begin = time.perf_counter()
        try:
            tables.execute(
                f"CREATE MATERIALIZED TABLE {case.table}{'' if is_distinct else f' ({listed})'} "
                "WITH ('incremental' = 'strict') FRESHNESS = INTERVAL '1' MINUTE "
                f"REFRESH_MODE = CONTINUOUS AS {query.text}"
            )
        except MaterializedTableError as error:
            progress(f"{case.name} is refused: {', '.join(codes_of(error))}")
            continue
        spark.sql(  # names of columns that Delta takes without column mapping
            f"CREATE TABLE {case.other} USING delta "
            f"AS SELECT * FROM (SELECT * FROM {case.table}) AS named({listed})"
        )
        rows = spark.table(case.table).count()
        progress(f"{case.name}: created in {time.perf_counter() - begin:.1f} s, {rows} rows")
        yield case


def _change(spark: SparkSession, source: str, share: float, turn: int) -> None:
    """Insert, update and delete a third of the share each."""
    changed, columns = _CHANGED[source], spark.table(source).columns
    every = max(_KIND, round(_KIND / share))
    listed = ", ".join(columns)

    def chosen(kind: int) -> str:
        return f"pmod(xxhash64({listed}), {every}) = {(turn * _KIND + kind) % every}"

    values = [f"{c} + 10000000 * {turn + 1}" if c == changed.key else c for c in columns]
    spark.sql(
        f"INSERT INTO {source} SELECT /*+ COALESCE(1) */ {', '.join(values)} FROM {source} "
        f"WHERE {chosen(0)}"
    )
    added = ", ".join(f"{number} = {number} + 1" for number in changed.numbers)
    spark.sql(f"UPDATE {source} SET {added} WHERE {chosen(1)}")
    spark.sql(f"DELETE FROM {source} WHERE {chosen(2)}")


def _measure(spark: SparkSession, tables: MaterializedTables, case: _Case, turn: int) -> None:
    def ours() -> None:
        _refreshed(tables, case)

    def overwritten() -> None:
        spark.sql(f"INSERT OVERWRITE {case.other} {case.query.text}")

    if turn % 2:
        seconds = seconds_of(ours)
        others = seconds_of(overwritten)
    else:
        others = seconds_of(overwritten)
        seconds = seconds_of(ours)
    case.ours, case.overwritten = (*case.ours, seconds), (*case.overwritten, others)
    stored, wanted = (spark.table(name).collect() for name in (case.table, case.other))
    if found := difference(stored, wanted):
        case.faults += (f"round {turn}: {found}",)
    wrong = f", DIFFERS: {found}" if found else ""
    progress(
        f"{case.name}: {seconds:.2f} s, {case.ways[-1]}; the query {others:.2f} s; "
        f"{len(wanted)} rows{wrong}"
    )


def _refreshed(tables: MaterializedTables, case: _Case) -> None:
    try:
        way = tables.refresh(case.table).strategy
    except MaterializedTableError as error:
        way = f"refused: {', '.join(codes_of(error))}"
        case.faults += (way,)
    case.ways = (*case.ways, way)
