"""Reads a scheduled time as Spark reads timestamps."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.identifier import quote_text
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.spark.private_session import PrivateSessions


class InvalidScheduleTimeError(MaterializedTableError):
    """A scheduled time cannot be read by its pattern."""

    condition = "MATERIALIZED_TABLE_INVALID_SCHEDULE_TIME"
    text = "The scheduled time '{time}' cannot be read as '{pattern}': {problem}"
    remedy = (
        "Give the time in the table's stored time zone, in the format of scheduleTimeFormat, which "
        "is a datetime pattern of Spark. Nothing was refreshed."
    )


def read_schedule_time(sessions: PrivateSessions, text: str, pattern: str, zone: str) -> datetime:
    """Return the instant that a text means.

    Args:
        sessions: Private sessions.
        text: The time.
        pattern: Its Spark datetime pattern.
        zone: The time zone in which it holds.

    Raises:
        InvalidScheduleTimeError: The text does not fit the pattern, or Spark knows no such pattern.
    """
    query = f"SELECT unix_millis(to_timestamp({quote_text(text)}, {quote_text(pattern)})) AS at"
    with sessions.open() as session:
        session.spark.conf.set("spark.sql.session.timeZone", zone)
        session.spark.conf.set("spark.sql.ansi.enabled", "true")
        try:
            at_ms = session.spark.sql(query).collect()[0]["at"]
        except Exception as error:
            if not is_spark_error(error):
                raise
            problem = failure_of(error).message
            raise InvalidScheduleTimeError(time=text, pattern=pattern, problem=problem) from error
    return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc)
