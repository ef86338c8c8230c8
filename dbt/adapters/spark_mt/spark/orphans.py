"""Directories with files at the place where a new table shall live."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.execution.errors import LocationTakenError
from dbt.adapters.spark_mt.execution.history import read_history
from dbt.adapters.spark_mt.planning.properties import location_of

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.history import History
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog

_FAR = 200
"""How many commits back a directory may have been one of our tables."""


def next_seq(log: DeltaLog, location: str, definition: StoredDefinition) -> int:
    """Return the number for the first commit of a table that takes a directory over.

    It follows the numbers that the directory's log has already: Delta skips lower ones silently.
    Under the warehouse a directory without a table belongs to nobody; a location that the user
    names is only taken over where this very table lived there before.

    Args:
        log: Reads logs.
        location: The directory.
        definition: The table's definition.

    Raises:
        LocationTakenError: The files at the user's location are of something else.
    """
    history = read_history(islice(log.backwards(location), _FAR))
    if location_of(definition) is not None and not _was(definition.name, history):
        raise LocationTakenError(table=definition.name, location=location)
    return history.seq + 1


def _was(name: TableName, history: History) -> bool:
    if not history.definition:
        return False
    return decode_definition(history.definition, str(name)).name == name
