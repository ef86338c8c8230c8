"""Lines of Delta's commit files, and checksum files: what they say of commits, files and tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.commit_metadata import UnreadableMetadataError, decode_commit
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution.table_format import TableDescription
from dbt.adapters.spark_mt.execution.table_history import Commit
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT, is_mapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMIT_INFO = '{"commitInfo"'
METADATA = '{"metaData"'
PROTOCOL = '{"protocol"'
ADD = '{"add"'
REMOVE = '{"remove"'
DESCRIBING = (METADATA, PROTOCOL)
"""With what the lines begin that change columns or properties."""
DESCRIBES = re.compile(rf"^(?:{'|'.join(DESCRIBING)})", re.MULTILINE)
_SAME_ROWS = re.compile(r'"dataChange"\s*:\s*false')
"""Never in a column's statistics: they are text in the line, where quotes are escaped."""


_MERGED = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_COUNTED = (*_MERGED, "numUpdatedRows", "numDeletedRows")
_CLUSTERING = "clustering"
_CLUSTERING_DOMAIN = "delta.clustering"
_NO_PROPERTY = "path"
"""The one key of a table's configuration that is none of its properties."""


@dataclass(frozen=True, slots=True)
class FileAction:
    """What one commit did to one file.

    Args:
        version: The commit.
        path: The file, as the log spells it.
        adds: Whether the file joined the table; otherwise it left.
        changes_rows: Whether rows came or went by it; moving rows to other files does not.
        rows: How many rows the file has; None where the log does not say.
    """

    version: int
    path: str
    adds: bool
    changes_rows: bool
    rows: int | None = None


def file_action(version: int, line: str) -> FileAction:
    """Return the action of a line of a commit."""
    ((kind, action),) = json.loads(line).items()
    rows = json.loads(action.get("stats") or "{}").get("numRecords")
    return FileAction(version, action["path"], kind == "add", action.get("dataChange", True), rows)


def rows_of_files(files: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how many rows the files of `add` actions have; None where one does not say it."""
    stored = [json.loads(file.get("stats") or "{}").get("numRecords") for file in files]
    removed = sum((file.get("deletionVector") or {}).get("cardinality", 0) for file in files)
    return None if None in stored else sum(stored) - removed


def parse_commit(version: int, line: str) -> Commit:
    """Return the commit of a `commitInfo` line."""
    info = json.loads(line)["commitInfo"]
    metadata, problem = None, ""
    try:
        metadata = decode_commit(info.get("userMetadata"))
    except UnreadableMetadataError as error:
        problem = str(error)
    operation = str(info.get("operation", ""))
    metrics = info.get("operationMetrics") or {}
    restored = (info.get("operationParameters") or {}).get("version")
    effect = FORMAT.effect_of(operation)
    return Commit(
        version=version,
        previous=version - 1,
        timestamp_ms=int(info.get("inCommitTimestamp") or info.get("timestamp") or 0),
        operation=operation,
        metadata=metadata,
        rows=_rows(metrics),
        identity=str(info.get("txnId") or info.get("timestamp")),
        problem=problem,
        effect=effect,
        restored=None if restored is None or effect is not CommitEffect.RESTORE else int(restored),
        changed=_changed(metrics),
    )


def _rows(metrics: dict[str, str]) -> int | None:
    """Return how many rows were written; an emptied partition has no such count, and no files.

    A MERGE also writes rows again that share a file with others: only those that changed count. Of
    rows that replace those of a condition, as many count as were added, or else removed.
    """
    if _MERGED[0] in metrics:
        return sum(int(metrics.get(name, 0)) for name in _MERGED)
    if (replaced := _replaced(metrics)) is not None:
        return replaced[0] or replaced[1]
    rows = metrics.get("numOutputRows", "0" if metrics.get("numFiles") == "0" else None)
    return None if rows is None else int(rows)


def _replaced(metrics: dict[str, str]) -> tuple[int, int] | None:
    """Return how many rows a write under a condition added and removed; None for another one.

    Delta counts the other rows of a file as copied, also those that only lose a few neighbours to a
    deletion vector.
    """
    names = ("numOutputRows", "numCopiedRows", "numDeletedRows")
    counts = [int(metrics.get(name, -1)) for name in names]
    return None if min(counts) < 0 else (counts[0] - counts[1], counts[2])


def _changed(metrics: dict[str, str]) -> int | None:
    """Return how many rows a commit changed, other than by adding; none where it does not say."""
    if (replaced := _replaced(metrics)) is not None:
        return sum(replaced)
    found = [int(metrics[name]) for name in _COUNTED if name in metrics]
    return sum(found) if found and min(found) >= 0 else None


def changes_rows(line: str) -> bool:
    """Whether a line of a commit adds or removes a file, and does not say that no row changes."""
    return line.startswith((ADD, REMOVE)) and _SAME_ROWS.search(line) is None


def checksum_description(checksum: Mapping[str, Any]) -> TableDescription | None:
    """Return the description of a table whose checksum file has these fields.

    The properties are those of `Snapshot.getProperties` and `DeltaTableV2.properties` of Delta 4.4.
    The files are specified in PROTOCOL.md, under Version Checksum File.

    Returns:
        None where fields are missing, and where clustering columns have other names in the files.
    """
    try:
        metadata, protocol = checksum["metadata"], checksum["protocol"]
        properties = dict(metadata["configuration"])
        properties.pop(_NO_PROPERTY, None)
        properties["delta.minReaderVersion"] = str(protocol["minReaderVersion"])
        properties["delta.minWriterVersion"] = str(protocol["minWriterVersion"])
        named = (protocol.get(key) or () for key in ("readerFeatures", "writerFeatures"))
        features = {feature for each in named for feature in each}
        properties |= {f"delta.feature.{feature}": "supported" for feature in features}
        if _CLUSTERING in features:
            if is_mapped(properties):
                return None
            columns = _clustering_columns(checksum["domainMetadata"])
            properties["clusteringColumns"] = json.dumps(columns, separators=(",", ":"))
    except (KeyError, TypeError):  # some writers leave fields out, others write them as null
        return None
    return TableDescription(metadata.get("description") or "", properties)


def _clustering_columns(domains: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    for each in domains:
        if each["domain"] == _CLUSTERING_DOMAIN and not each["removed"]:
            return list(json.loads(each["configuration"])["clusteringColumns"])
    return []
