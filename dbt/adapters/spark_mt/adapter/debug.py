"""Facts about a connection that `dbt debug` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.launch.listeners import listeners

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.handle import SparkHandle

_ANSI = "spark.sql.ansi.enabled"


def facts(handle: SparkHandle) -> Iterator[str]:
    """Yield a sentence for each fact: which Spark it is, what listens where, how it computes."""
    target = handle.target
    if target is not None:
        where = "a server" if target.is_connect else "dbt's own process"
        yield f"Spark runs in {where}: {target.why}."
    if target is None or not target.is_connect:
        yield from (f"Listening: {each}" for each in listeners(handle.spark))
    elif target.manager is not None:
        # What else the manager's processes serve is in its log.
        yield f"Listening: Spark Connect of the manager at {target.manager.connect_url} (a token)"
        yield f"Listening: page and REST of the manager at {target.manager.rest_url or 'nowhere'}"
    yield _ansi_mode(handle.spark.conf.get(_ANSI, None) or "true")


def _ansi_mode(value: str) -> str:
    """Return whether Spark raises errors where dbt-spark, which turns ANSI off, has NULL."""
    if value.lower() == "true":
        return (
            f"{_ANSI} is true, Spark's default: a division by zero, an invalid cast or an index "
            "out of range is an error. dbt-spark sets false, and has NULL there: put "
            f"`{_ANSI}: false` under server_side_parameters for that."
        )
    return f"{_ANSI} is {value}: a division by zero or an invalid cast gives NULL, as in dbt-spark."
