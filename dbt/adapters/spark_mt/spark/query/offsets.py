"""Sources whose positions are offsets: tables over topics of Kafka, files and generated rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    ChangeKind,
    OffsetPosition,
    UnknownPosition,
)
from dbt.adapters.spark_mt.execution.ports import StartPosition
from dbt.adapters.spark_mt.query.analyzer import FILE_FORMATS
from dbt.adapters.spark_mt.spark.catalog import source_options
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import Position


KAFKA = "kafka"
EARLIEST = -2
"""Stands for the oldest record that a partition still has."""

Partition = tuple[str, int]
"""A topic and the number of one of its partitions."""
Offsets = dict[Partition, int]


_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"
_REMOVED = "spark.sql.streaming.forceDeleteTempCheckpointLocation"
_PATIENCE_S = 60
_TIMES = ("startingTimestamp", "startingOffsetsByTimestamp")
_STARTS = (*_TIMES, "startingOffsets", "startingOffsetsByTimestampStrategy")
_ENDS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_LIMITS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_TOPICS = ("assign", "subscribe", "subscribePattern")
_NOTHING = {"maxOffsetsPerTrigger": "0"}
_AT_ONCE = 100
"""How many records of a partition are looked at in search of the first."""
_FILE_LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")


def kafka_position(offset: str) -> OffsetPosition:
    """Return the position that an offset of Spark's names; `null` is that of no partitions."""
    return position_of(parse(offset))


def position_of(offsets: Mapping[Partition, int]) -> OffsetPosition:
    """Return offsets as a position."""
    return OffsetPosition(KAFKA, render(offsets))


def offsets_of(position: OffsetPosition) -> Offsets:
    """Return the offsets that a position names."""
    return parse(position.offset)


def parse(text: str) -> Offsets:
    """Read Spark's JSON: topic, then partition, then offset."""
    document = json.loads(text) or {}
    return {
        (topic, int(number)): int(offset)
        for topic, partitions in document.items()
        for number, offset in partitions.items()
    }


def render(offsets: Mapping[Partition, int]) -> str:
    """Write canonical JSON: sorted keys, no blanks."""
    document: dict[str, dict[str, int]] = {}
    for (topic, number), offset in offsets.items():
        document.setdefault(topic, {})[str(number)] = offset
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def assignment(offsets: Mapping[Partition, int]) -> str:
    """Name exactly these partitions, as the option `assign` takes them."""
    document: dict[str, list[int]] = {}
    for topic, number in sorted(offsets):
        document.setdefault(topic, []).append(number)
    return json.dumps(document, separators=(",", ":"))


def completed(offsets: Mapping[Partition, int], known: Mapping[Partition, int]) -> Offsets:
    """Let partitions that are known and not named begin at their oldest record."""
    return {**dict.fromkeys(known, EARLIEST), **offsets}


def kind_between(
    after: Mapping[Partition, int], upto: Mapping[Partition, int], oldest: Mapping[Partition, int]
) -> ChangeKind:
    """Return what happened to a log between two of its positions.

    Args:
        after: What was read.
        upto: Up to where it shall be read.
        oldest: The oldest record of each partition now.

    Returns:
        REPLACED where a partition counts again from its beginning, GONE where records between the
        two positions are no longer there.
    """
    if any(upto[partition] < read for partition, read in after.items() if partition in upto):
        return ChangeKind.REPLACED
    begins = {partition: after.get(partition, 0) for partition in upto}
    unread = [partition for partition, begin in begins.items() if begin < upto[partition]]
    lost = [p for p in unread if p not in oldest or oldest[p] > begins[p]]
    if lost or not after.keys() <= upto.keys():
        return ChangeKind.GONE
    return ChangeKind.ADDED if unread else ChangeKind.NONE


def holds(position: Mapping[Partition, int], oldest: Offsets, newest: Offsets) -> bool:
    """Whether a log can be read on from a position: no record after it is missing."""
    return all(
        partition in newest and oldest[partition] <= offset <= newest[partition]
        for partition, offset in position.items()
    )


def reaches_back(start: Mapping[Partition, int], oldest: Mapping[Partition, int]) -> bool:
    """Whether a log still has what lay right before `start`, or never had anything there."""
    return all(
        offset > oldest.get(partition, 0) or oldest.get(partition, 0) == 0
        for partition, offset in start.items()
    )


class _OffsetSource:
    """A source whose positions are offsets, which name no table.

    Frames belong to the private session for which it was opened.
    """

    is_versioned = False

    def __init__(self, spark: SparkSession, name: TableName) -> None:
        self._spark = spark
        self._name = name

    def identity(self) -> str:
        """Return nothing: offsets do not name the table."""
        return ""

    def is_of(self, position: Position) -> bool:  # noqa: ARG002 - not in offsets
        """Whether a position is one of this source, as far as offsets show."""
        return True


@dataclass(frozen=True, slots=True)
class _Ends:
    """Where a stream would begin and where the log ends, each as the source's own JSON."""

    start: str = "null"
    end: str = "null"


class KafkaSource(_OffsetSource):
    """A table made by `CREATE TABLE k USING kafka OPTIONS (…)`.

    If such a table is read as a stream, Spark passes the schema in the catalog to the connector,
    which refuses it. Spark also ignores options after the table's name in a query. So readers are
    made here, of the table's own options.
    """

    @property
    def is_followable(self) -> bool:
        """Whether a stream can follow the table.

        A table whose options name its end never changes, or changes in another way.
        """
        return not source_options.has_any(self._options, _ENDS)

    def latest(self) -> OffsetPosition:
        """Return where the log ends now.

        Raises:
            SourceNotFoundError: The table, a topic or the broker cannot be reached.
        """
        return kafka_position(self._ends(startingOffsets="earliest").end)

    def earliest(self) -> OffsetPosition:
        """Return where the oldest records are that Kafka still has; raises as `latest` does."""
        return kafka_position(self._ends(startingOffsets="earliest").start)

    def position_at(self, instant_ms: int) -> StartPosition:
        """As `StreamSource.position_at`, by the records' own times.

        Raises:
            SourceNotFoundError: The table, a topic or the broker cannot be reached.
        """
        ends = self._ends(
            startingTimestamp=str(instant_ms), startingOffsetsByTimestampStrategy="latest"
        )
        start, oldest = parse(ends.start), offsets_of(self.earliest())
        return StartPosition(position_of(start), is_complete=reaches_back(start, oldest))

    def identity_in(self, offset: object) -> str | None:
        """Return nothing for offsets of topics; None for those of another kind."""
        is_ours = isinstance(offset, dict) and all(isinstance(p, dict) for p in offset.values())
        return "" if is_ours else None

    def position_of(self, offset: str) -> OffsetPosition:
        """Return what an entry in the offsets of a checkpoint means."""
        return kafka_position(offset)

    def changes_types(
        self, after: Position, upto: Position, columns: Collection[str] | None
    ) -> bool:
        """Return False: the columns of a topic are fixed."""
        del after, upto, columns
        return False

    def kind(self, after: Position | None, upto: Position) -> ChangeKind:
        """Return what happened between two positions.

        A topic that was deleted, made again and filled beyond `after` is not distinguished from the
        one before: Kafka's offsets do not say which topic they belong to.
        """
        if after is not None and after.same_state(upto):
            return ChangeKind.NONE
        oldest, wanted = offsets_of(self.earliest()), _known(upto)
        read = _read(after)
        if read is None:
            is_empty = all(wanted[p] <= oldest.get(p, 0) for p in wanted)
            return ChangeKind.NONE if is_empty else ChangeKind.ADDED
        return kind_between(read, wanted, oldest)

    def is_readable(self, position: Position) -> bool:
        """Whether all records after a position are still there."""
        ends = self._ends(startingOffsets="earliest")
        return holds(_known(position), parse(ends.start), parse(ends.end))

    def first_change_after(self, position: Position) -> int | None:
        """Return the time of the first record after a position, None where there is none.

        Milliseconds since the epoch, UTC.
        """
        ends = self._ends(startingOffsets="earliest")
        oldest, end = parse(ends.start), parse(ends.end)
        read = _known(position)
        start = {p: max(min(read.get(p, 0), end[p]), oldest[p]) for p in end}
        near = {p: min(start[p] + _AT_ONCE, end[p]) for p in end}
        first = self._first_time(start, near)
        return first if first is not None or near == end else self._first_time(near, end)

    def stream(
        self, after: Position | None = None, limits: Mapping[str, str] = source_options.NO_LIMITS
    ) -> DataFrame:
        """Open the source as a stream of what comes after a position.

        Partitions that the position does not know are read from their oldest record. Without a
        position the stream begins where the table's own options say, else at the oldest records.
        """
        read = _read(after)
        options = {
            **source_options.without(self._options, _ENDS),
            **source_options.only(limits, _LIMITS[:1]),
        }
        if read is None:
            own = source_options.has_any(options, _STARTS)
            return self._stream(options if own else {**options, "startingOffsets": "earliest"})
        known = offsets_of(self.latest())
        options = source_options.without(options, _STARTS)
        return self._stream({**options, "startingOffsets": render(completed(read, known))})

    def batch(self, after: Position | None, upto: Position) -> DataFrame:
        """Open what lies between two positions; all that the table holds up to `upto` for None.

        Records that are gone make the frame fail when it is computed.
        """
        wanted, read = _known(upto), _read(after)
        options = source_options.without(self._options, _ENDS)
        if not wanted:
            return self._batch(options).where("false")
        if read is not None:
            options = source_options.without(options, _STARTS)
        if not source_options.has_any(options, _TIMES):
            named = _named_start(options) if read is None else read
            begin = {partition: named.get(partition, EARLIEST) for partition in wanted}
            options = {
                **source_options.without(options, _STARTS),
                "startingOffsets": render(begin),
            }
        topics = {"assign": assignment(wanted), "endingOffsets": render(wanted)}
        return self._batch({**source_options.without(options, _TOPICS), **topics})

    @cached_property
    def _options(self) -> dict[str, str]:
        return source_options.table_options(self._spark, self._name)

    def _first_time(self, start: Offsets, end: Offsets) -> int | None:
        if start == end:
            return None
        rows = self.batch(position_of(start), position_of(end))
        found = rows.selectExpr("unix_millis(min(timestamp))").collect()[0][0]
        return None if found is None else int(found)

    def _ends(self, **start: str) -> _Ends:
        """Start a stream that may take no rows, and return what its progress says of the log.

        The first batch of such a stream ends where it starts. 0.3 s, and no checkpoint is left.

        Raises:
            SourceNotFoundError: The log cannot be reached, or did not answer within a minute.
        """
        options = source_options.without(self._options, (*_STARTS, *_ENDS, *_LIMITS))
        try:
            with unlogged():
                found = self._probed(self._stream({**options, **start, **_NOTHING}))
        except Exception as error:
            if not is_spark_error(error):
                raise
            failure = failure_of(error)
            problem = failure.parameter("message") or failure.message
            raise conditions.SOURCE_NOT_FOUND(source=self._name, problem=problem) from error
        if found is None:
            problem = "it gave no answer within a minute"
            raise conditions.SOURCE_NOT_FOUND(source=self._name, problem=problem)
        return found

    def _probed(self, frame: DataFrame) -> _Ends | None:
        self._spark.conf.unset(_CHECKPOINTS)  # a directory of Spark's own is used, and removed
        self._spark.conf.set(_REMOVED, "true")
        query = frame.writeStream.format("noop").trigger(availableNow=True).start()
        if not query.awaitTermination(_PATIENCE_S):
            query.stop()
            return None
        if (progress := query.lastProgress) is None:
            return _Ends()
        source = progress["sources"][0]
        return _Ends(source["endOffset"], source["latestOffset"])

    def _stream(self, options: dict[str, str]) -> DataFrame:
        return self._spark.readStream.format(KAFKA).options(**options).load()

    def _batch(self, options: dict[str, str]) -> DataFrame:
        return self._spark.read.format(KAFKA).options(**options).load()


def _named_start(options: dict[str, str]) -> Offsets:
    """Return the offsets that a table's own options name; `earliest` names none."""
    own = {key.lower(): value for key, value in options.items()}.get("startingoffsets", "earliest")
    return {} if own.lower() == "earliest" else parse(own)


def _read(after: Position | None) -> Offsets | None:
    return None if after is None or after == BEFORE_ALL else _known(after)


def _known(position: Position) -> Offsets:
    if not isinstance(position, OffsetPosition) or position.format != KAFKA:
        raise TypeError(f"{position} is no position in Kafka")  # noqa: TRY003, EM102
    return offsets_of(position)


class _CheckpointedSource(_OffsetSource):
    """A source whose offsets say nothing without the checkpoint of the stream that counted them.

    So its position is unknown outside of a checkpoint. Its streams begin at its beginning, each in
    a checkpoint that it keeps.
    """

    def __init__(self, spark: SparkSession, name: TableName, format_: str) -> None:
        super().__init__(spark, name)
        self._format = format_

    def latest(self) -> UnknownPosition:
        """Return an unknown position: only a checkpoint has it."""
        return UnknownPosition()

    def earliest(self) -> UnknownPosition:
        """Return an unknown position: only a checkpoint has it."""
        return UnknownPosition()

    def position_at(self, instant_ms: int) -> StartPosition:  # noqa: ARG002 - as other sources
        """Refuse: such a source has no times.

        Raises:
            MaterializedTableError: Always.
        """
        raise conditions.SOURCE_WITHOUT_TIME(source=self._name, format=self._format)

    def identity_in(self, offset: object) -> str | None:
        """Return nothing for offsets of such a source; None for those of another kind."""
        is_of_files = isinstance(offset, dict) and "logOffset" in offset
        is_ours = is_of_files if self._format in FILE_FORMATS else not isinstance(offset, dict)
        return "" if is_ours else None

    def position_of(self, offset: str) -> OffsetPosition:
        """Return what an entry in the offsets of a checkpoint means, for that checkpoint."""
        text = json.dumps(json.loads(offset), sort_keys=True, separators=(",", ":"))
        return OffsetPosition(self._format, text)

    def changes_types(
        self, after: Position, upto: Position, columns: Collection[str] | None
    ) -> bool:
        """Return False: a folder of files has no types but those of the catalog."""
        del after, upto, columns
        return False

    def kind(self, after: Position | None, upto: Position) -> ChangeKind:
        """Return what happened between two positions of one checkpoint."""
        if after is None:
            return ChangeKind.ADDED
        if after.same_state(upto):
            return ChangeKind.NONE
        return ChangeKind.ADDED if upto.reaches(after) else ChangeKind.REPLACED


class FilesSource(_CheckpointedSource):
    """A directory into which files land; they are added and never change."""

    def stream(
        self,
        after: Position | None = None,  # noqa: ARG002 - it is in the checkpoint
        limits: Mapping[str, str] = source_options.NO_LIMITS,
    ) -> DataFrame:
        """Open the source as a stream; what its checkpoint has read already is not read again."""
        reader = self._spark.readStream.options(**source_options.only(limits, _FILE_LIMITS))
        return reader.table(self._name.sql)

    def batch(self, after: Position | None, upto: Position) -> DataFrame:  # noqa: ARG002
        """Open all files that are there; positions do not show which of them a stream has read."""
        return self._spark.read.table(self._name.sql)


class RateSource(_CheckpointedSource):
    """Rows that Spark makes while a stream runs.

    Spark reads a table of this kind neither in a query nor as a stream: only the reader that is
    made here, of the table's options, does.
    """

    def stream(
        self,
        after: Position | None = None,  # noqa: ARG002 - it is in the checkpoint
        limits: Mapping[str, str] = source_options.NO_LIMITS,  # noqa: ARG002 - its own options count
    ) -> DataFrame:
        """Open the source as a stream; its checkpoint continues the count."""
        options = source_options.table_options(self._spark, self._name)
        return self._spark.readStream.format(self._format).options(**options).load()

    def batch(self, after: Position | None, upto: Position) -> DataFrame:  # noqa: ARG002
        """Refuse.

        Raises:
            MaterializedTableError: Always.
        """
        raise conditions.SOURCE_ONLY_STREAMS(source=self._name, format=self._format)
