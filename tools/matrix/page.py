"""Tables of docs/compatibility.md: what is supported, which lanes ran, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.releases import DBT, JAVA, PYTHON, listed
from dbt.adapters.spark_mt.spark.delta.releases import PAIRS
from tools.matrix import results
from tools.matrix.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.matrix.lanes import Lane
    from tools.matrix.results import Result

Row = tuple[str, ...]
SUPPORTED_HEADER = ("software", "releases")
RAN_HEADER = (
    "lane",
    "ran on",
    "Python",
    "Java",
    "dbt-core",
    "dbt-spark",
    "PySpark",
    "Delta Lake",
    "pandas",
    "PyArrow",
    "tests",
    "time",
)
EXCLUDED_HEADER = ("lane", "releases", "what it waits for", "seen")
_SHOWN = ("python", "java", "dbt-core", "dbt-spark", "pyspark", "delta", "pandas", "pyarrow")


def supported() -> Iterator[Row]:
    """Yield a row for each software that the package is used with."""
    yield "Python", listed(PYTHON)
    yield "dbt-core", listed([f"{minor}.x" for minor in DBT])
    for pair in PAIRS:
        deltas = listed([f"{minor}.x" for minor in pair.deltas])
        java = " to ".join(JAVA[pair.spark])
        yield (
            f"PySpark {pair.spark}.x",
            f"Delta Lake {deltas}, `{pair.package}` by default; Java {java}",
        )


def lanes(record: Mapping[str, Result] | None = None) -> Iterator[Row]:
    """Yield a row for each lane that is supported, with its newest result."""
    known = results.read() if record is None else record
    for lane in LANES:
        if lane.excluded is None:
            yield _row(lane, known.get(lane.name))


def excluded(record: Mapping[str, Result] | None = None) -> Iterator[Row]:
    """Yield a row for each lane whose releases are not supported."""
    known = results.read() if record is None else record
    for lane in LANES:
        if lane.excluded is not None:
            releases = f"Python {lane.python}, PySpark {lane.pyspark}, Delta {lane.delta_version}"
            yield f"`{lane.name}`: {lane.about}", releases, lane.excluded, _seen(known, lane)


def _row(lane: Lane, result: Result | None) -> Row:
    name = f"`{lane.name}`: {lane.about}"
    if result is None:
        return (name, "not yet", *("" for _ in RAN_HEADER[2:]))
    versions = (result.installed[each] for each in _SHOWN)
    return (name, result.date, *versions, str(result.outcomes), f"{_minutes(result)} min")


def _seen(known: Mapping[str, Result], lane: Lane) -> str:
    result = known.get(lane.name)
    if result is None:
        return "not run"
    if result.outcomes.is_sound:
        return f"{result.date}: all {result.outcomes.passed} tests pass"
    return f"{result.date}: {result.outcomes}"


def _minutes(result: Result) -> int:
    return max(1, round(result.seconds / 60))
