"""Demonstration of materialized tables on real data: `make demo`.

Works in a copy of this project (.work/flights by default), in which the tables and the
metastore stay afterwards. All dbt commands run in this process, so that Spark starts once; each
one is what `dbt` does in a shell.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import feed
import land
import managed
from dbt.cli.main import dbtRunner

from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).parent
DEFAULT_FOLDER = EXAMPLE.parents[1] / ".work" / "flights"
NEW_YORK = ZoneInfo("America/New_York")
RESULT_LINES = {"LogModelResult", "LogTestResult", "LogUnitTestResult", "LogSkipBecauseError"}
ERROR_LINES = {"RunResultError", "MainEncounteredError"}
DBT_OPTIONS = ("--no-use-colors", "--log-level", "none", "--log-level-file", "debug")
CONDITION = re.compile(r"\[(MATERIALIZED_TABLE_\w+)\]")
HOURLY = "models/hourly_departures.sql"
LIVE, LIVE_MODEL = "flights.live_departures", "models/live_departures.sql"
PATIENCE_S = 180
DELAY = "    round(avg(dep_delay), 1) as mean_delay"
COUNTED = {
    "flights.hourly_departures": "sum(departures)",
    "flights.daily_report": "sum(scheduled)",
    LIVE: "sum(departures)",
}
CANCELLED = DELAY + ",\n    count_if(dep_time is null) as cancelled"


class UnexpectedOutcomeError(RuntimeError):
    """A step of the demo did not do what it should."""

    def __init__(self, what: str, wanted: object, got: object) -> None:
        super().__init__(f"{what}: {wanted} was expected, but was {got}")


def expect(what: str, wanted: object, got: object) -> None:
    """Compare what a step did with what it should do.

    Raises:
        UnexpectedOutcomeError: They differ.
    """
    if wanted != got:
        raise UnexpectedOutcomeError(what, wanted, got)


def say(text: str = "") -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201 - this is a command


@dataclass
class Demo:
    """The copy of the project, the Spark that works in it, and what has been done so far."""

    project: Path
    spark: SparkSession
    done: list[tuple[str, str, float]] = field(default_factory=list)

    def dbt(self, *arguments: str, succeeds: bool = True) -> None:
        """Run dbt, show the lines with results, and note what became of the models."""
        say(f"$ dbt {' '.join(arguments)}")
        outcome = dbtRunner(callbacks=[show_result]).invoke([*DBT_OPTIONS, *arguments])
        for result in _results(outcome.result):
            if result.node.resource_type == "model":
                self.note(result.node.name, _described(result), result.execution_time)
                for change in _changes(result):
                    say(f"  {result.node.name}: {change}")
        if outcome.exception is not None:
            say(f"  {outcome.exception}")
        expect(f"success of dbt {' '.join(arguments)}", succeeds, outcome.success)

    def note(self, what: str, outcome: str, seconds: float) -> None:
        """Keep a line for the summary."""
        self.done.append((what, outcome, seconds))

    def land(self, month: int) -> None:
        """Let a month arrive in the landing tables."""
        say(f"$ python land.py {month}")
        for table, rows in land.land(self.spark, month).items():
            say(f"  {land.SCHEMA}.{table}: {rows:,} rows")

    def edit(self, file: str, before: str, after: str) -> None:
        """Replace a part of a model in the copy of the project and show it."""
        path = self.project / file
        text = path.read_text(encoding="utf-8")
        expect(f"how often {file} holds what is edited", 1, text.count(before))
        path.write_text(text.replace(before, after), encoding="utf-8")
        say(f"edited {file}:")
        say("\n".join(f"  - {line.strip()}" for line in before.splitlines()))
        say("\n".join(f"  + {line.strip()}" for line in after.splitlines()))

    def show(self, sql: str) -> None:
        """Run a query or one of our statements and show its rows."""
        say(f"> {sql}")
        MaterializedTables(self.spark).sql(sql).show(truncate=60)

    def count(self, query: str) -> int:
        """The number that a query returns."""
        return int(self.spark.sql(query).collect()[0][0])


def show_result(event: Any) -> None:  # noqa: ANN401 - dbt's events are generated classes
    """Print the lines in which dbt says what became of a node."""
    if event.info.name in RESULT_LINES:
        say("  " + event.info.msg)
    elif event.info.name in ERROR_LINES:
        say("\n".join("    " + line for line in event.info.msg.splitlines() if line.strip()))


def _results(result: Any) -> Iterator[Any]:  # noqa: ANN401 - dbt's result is a union of everything
    yield from getattr(result, "results", None) or []


def _changes(result: Any) -> list[str]:  # noqa: ANN401 - as above
    """The changes of a definition, as `run_results.json` has them."""
    response = result.adapter_response
    return response["changes"] if response.get("action") == "ALTERED" else []


def _described(result: Any) -> str:  # noqa: ANN401 - as above
    message = str(result.message or result.status).strip()
    if result.status == "success":
        return message
    return "refused: " + next((c[1] for c in [CONDITION.search(message)] if c), message)


def january(demo: Demo) -> None:
    """January arrives and every table is built."""
    demo.land(1)
    feed.create_table(demo.spark, demo.project)
    demo.dbt("build")


def again(demo: Demo) -> None:
    """Nothing has changed, so nothing is done."""
    demo.dbt("run")


def february(demo: Demo) -> None:
    """February arrives; a scheduled run writes one day of the report, dbt the rest."""
    demo.land(2)
    report = "flights.daily_report"
    scheduled = datetime(2013, 2, 2, tzinfo=NEW_YORK)
    say(f'$ python: MaterializedTables(spark).refresh("{report}", scheduled_at={scheduled:%F %R})')
    outcome = MaterializedTables(demo.spark).refresh(report, scheduled_at=scheduled)
    say(f"  {outcome.status.value}: {outcome.rows} rows in {', '.join(outcome.partitions)}")
    demo.note("daily_report, scheduled", outcome.status.value, outcome.duration_ms / 1000)
    demo.show(f"SELECT count(DISTINCT ds) AS days, max(ds) AS last_day FROM {report}")
    demo.dbt("build")


def append_column(demo: Demo) -> None:
    """A model gets one more column at the end."""
    demo.edit(HOURLY, DELAY, CANCELLED)
    demo.dbt("build", "--select", "hourly_departures+")


def drop_column(demo: Demo) -> None:
    """A model loses a column: refused, with the reason, and the table stays as it is."""
    before = demo.count("SELECT sum(departures) FROM flights.hourly_departures")
    demo.edit(HOURLY, CANCELLED, "    count_if(dep_time is null) as cancelled")
    demo.dbt("run", "--select", "hourly_departures", succeeds=False)
    after = demo.count("SELECT sum(departures) FROM flights.hourly_departures")
    say(f"the table still holds {after:,} departures and its column mean_delay")
    expect("departures after the refused change", before, after)
    demo.edit(HOURLY, "    count_if(dep_time is null) as cancelled", CANCELLED)


def live(demo: Demo) -> None:
    """Flights arrive as files, one a second; a table follows them while its query changes."""
    tables = MaterializedTables(demo.spark)
    arriving = feed.Feed(demo.project / feed.FOLDER)
    say(f'$ python: MaterializedTables(spark).start("{LIVE}")')
    started = time.monotonic()
    tables.start(LIVE)
    try:
        arriving.start()
        watch(demo, arriving)
        demo.edit(LIVE_MODEL, DELAY, CANCELLED)
        demo.dbt("run", "--select", "live_departures")
        watch(demo, arriving)
        arriving.stop()
        say(f'$ python: MaterializedTables(spark).await_fresh("{LIVE}", {PATIENCE_S})')
        done = tables.await_fresh(LIVE, PATIENCE_S)
        tell_live(demo, arriving)
    finally:
        arriving.stop()
        tables.stop_all()
    demo.note("live_departures, live", f"{done.batches} commits", time.monotonic() - started)
    demo.show(
        f"SELECT date(time_hour) AS day, sum(departures) AS departures, "
        f"sum(cancelled) AS cancelled FROM {LIVE} GROUP BY day ORDER BY day DESC LIMIT 5"
    )
    demo.spark.sql(f"REFRESH TABLE {feed.TABLE}")
    check_complete(demo, LIVE, feed.TABLE)
    hours = "SELECT time_hour, origin, count(*) AS departures"
    expect(
        "hours that miss or repeat a flight",
        0,
        demo.count(
            f"SELECT count(*) FROM ({hours} FROM {feed.TABLE} GROUP BY time_hour, origin "
            f"EXCEPT ALL SELECT time_hour, origin, departures FROM {LIVE})"
        ),
    )


def watch(demo: Demo, arriving: feed.Feed) -> None:
    """Print the lag of the live table until it counts the next eight files.

    Raises:
        UnexpectedOutcomeError: It does not within three minutes.
    """
    files, end = arriving.files + 8, time.monotonic() + PATIENCE_S
    while not arriving.is_counted(files, tell_live(demo, arriving)):
        expect(f"{LIVE} still not counting {files} files", False, time.monotonic() > end)  # noqa: FBT003
        time.sleep(1)


def tell_live(demo: Demo, arriving: feed.Feed) -> int:
    """Compare the live table with the files that have landed, and return what it counts."""
    counted, rows = demo.spark.sql(
        f"SELECT coalesce(sum(departures), 0), count(*) FROM {LIVE}"
    ).collect()[0]
    say(
        f"  {arriving.files:>3} files with {arriving.flights:>6,} flights have landed; the table "
        f"counts {counted:>6,} in {rows:>5,} rows: lag {arriving.seconds_behind(counted):4.1f} s"
    )
    return int(counted)


def with_manager(demo: Demo) -> None:
    """A manager keeps everything fresh; it is killed, starts again, and nothing is lost."""
    managed.close_jvm(demo.spark)
    started = time.monotonic()
    say("$ spark-mt serve")
    served = managed.Served.start(demo.project)
    say(f"  ready after {time.monotonic() - started:.0f} s; the status page is {served.url}")
    expect(f"whether the page shows {LIVE}", True, LIVE in served.page())  # noqa: FBT003
    arriving = feed.Feed(demo.project / feed.FOLDER)
    try:
        arriving.start()
        watch_served(served, arriving)
        say("$ dbt run      (in another process: it finds the manager and works there)")
        say(dbt_in_shell(demo.project))
        say("$ kill -9      (the manager)")
        served.kill()
        say("$ spark-mt serve")
        served = managed.Served.start(demo.project)
        watch_served(served, arriving)
        arriving.stop()
        check_served(demo.project)
    finally:
        arriving.stop()
        served.stop()
    demo.note("everything, by the manager", "killed once", time.monotonic() - started)


def watch_served(served: managed.Served, arriving: feed.Feed) -> None:
    """Print what the manager's page shows, until the tables follow the next five files."""
    files, since_ms = arriving.files + 5, time.time() * 1000

    def follows() -> bool:
        shown = served.tables()
        table = shown.get(LIVE, {})
        lag = table.get("lag_seconds")
        behind = "unknown" if lag is None else f"lag {lag:.1f} s"
        say(
            f"  {arriving.files:>3} files have landed; {LIVE}: {table.get('activity')}, {behind}, "
            f"freshness {table.get('freshness_status')}; {len(shown)} tables are kept"
        )
        fresh = (table.get("last_refresh_at_ms") or 0) > since_ms
        return arriving.files >= files and fresh

    managed.until(f"{LIVE} follows", follows, pause_s=2)


def dbt_in_shell(project: Path) -> str:
    """Run dbt as a process of its own and return its lines about models."""
    command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", "run"]
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    expect("dbt run with the manager", 0, done.returncode or 0)
    lines = [line.partition("  ")[2] for line in done.stdout.splitlines() if " of " in line]
    return "\n".join(f"  {line}" for line in lines if " OK " in line)


def check_served(project: Path) -> None:
    """Every flight that landed as a file is in the live table, once."""
    managed.run(project, "sql", f"REFRESH TABLE {feed.TABLE}")
    landed = managed.number(project, f"SELECT count(*) AS n FROM {feed.TABLE}")
    query = f"SELECT sum(departures) AS n FROM {LIVE}"
    held = 0

    def is_counted() -> bool:
        nonlocal held
        held = managed.number(project, query)
        return held >= landed

    managed.until("every flight is counted", is_counted, pause_s=2)
    say(f"{LIVE} accounts for {held:,} of {landed:,} flights")
    expect(f"flights in {LIVE}", landed, held)


def final_tables(demo: Demo) -> None:
    """What there is now."""
    demo.show("SHOW MATERIALIZED TABLES IN flights")
    demo.show("SELECT * FROM flights.hourly_departures ORDER BY time_hour DESC, origin LIMIT 5")
    demo.show("SELECT * FROM flights.busiest_hours ORDER BY departures DESC LIMIT 5")
    demo.show("SELECT * FROM flights.daily_report ORDER BY punctual_percent LIMIT 5")
    demo.show(
        "SELECT airline, count(*) AS flights, round(avg(arr_delay), 1) AS mean_delay, "
        "count_if(cancelled) AS cancelled FROM flights.flights_wide "
        "GROUP BY airline ORDER BY flights DESC LIMIT 5"
    )
    for table in ("flights_wide", "hourly_departures", "daily_report"):
        check_complete(demo, f"flights.{table}", f"{land.SCHEMA}.flights")


def check_complete(demo: Demo, table: str, source: str) -> None:
    """Compare a table with what landed: no flight is missing or counted twice."""
    landed = demo.count(f"SELECT count(*) FROM {source}")
    held = demo.count(f"SELECT {COUNTED.get(table, 'count(*)')} FROM {table}")
    say(f"{table} accounts for {held:,} of {landed:,} flights")
    expect(f"flights in {table}", landed, held)


STEPS: tuple[Callable[[Demo], None], ...] = (
    january,
    again,
    february,
    append_column,
    drop_column,
    live,
    final_tables,
    with_manager,
)


def prepare(folder: Path) -> Path:
    """Make a fresh copy of the project, without what dbt wrote."""
    if folder.exists():
        shutil.rmtree(folder)
    ignored = shutil.ignore_patterns("demo.py", "__pycache__", "target", "logs", "spark-warehouse")
    shutil.copytree(EXAMPLE, folder, ignore=ignored)
    return folder


def summary(demo: Demo) -> None:
    """What each step did."""
    width = max(len(what) for what, _, _ in demo.done)
    say("\n== What was done")
    for what, outcome, seconds in demo.done:
        say(f"  {what:<{width}}  {seconds:5.1f} s  {outcome}")


def main() -> int:
    """Run the steps, then say where everything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER, help="where to work")
    parser.add_argument("--steps", type=int, default=len(STEPS), help="how many; all by default")
    arguments = parser.parse_args()
    project = prepare(arguments.folder.resolve())
    os.chdir(project)
    started = time.monotonic()
    say("Starting Spark …")
    demo = Demo(project, land.start_spark(project))
    for number, step in enumerate(STEPS[: arguments.steps], 1):
        say(f"\n== {number}. {(step.__doc__ or '').splitlines()[0]}")
        step(demo)
    summary(demo)
    say(f"\nDone in {time.monotonic() - started:.0f} s. The project and its tables: {project}")
    say("`make serve` keeps them fresh, and shows them in the browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
