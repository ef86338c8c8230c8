"""Offsets of Kafka: the next record of every partition of every topic that is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import OffsetPosition
from dbt.adapters.spark_mt.planning.windows import ChangeKind

if TYPE_CHECKING:
    from collections.abc import Mapping

KAFKA = "kafka"
EARLIEST = -2
"""Stands for the oldest record that a partition still has."""

Partition = tuple[str, int]
"""A topic and the number of one of its partitions."""
Offsets = dict[Partition, int]


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
    """Tell what happened to a log between two of its positions.

    Args:
        after: What was read.
        upto: Up to where it shall be read.
        oldest: The oldest record of each partition now.

    Returns:
        REPLACED where a partition counts from anew, GONE where records between the two positions
        are no longer there.
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
    """Whether a log can be gone on from a position: no record behind it is missing."""
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
