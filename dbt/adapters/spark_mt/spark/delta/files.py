"""Data files that the commits of a range of versions added and removed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_UNIQUE_NAME = re.compile(
    r"^(?:part|cdc)-\d+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[-.\w]*\.parquet$"
)
"""Names that Delta itself gives hold a random number, so that no two files share one."""

MOST_FILES = 5000
"""Up to how many files are named in a query."""


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


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What happened to the files of a table in a range of versions.

    Args:
        added: Names of files that brought rows, by the version at which they can be read: the last
            of the range, or an earlier one for files that were rewritten since.
        touched: Names of all files that came or went.
        removes_rows: Whether rows left the table, as far as the files show.
        named: Whether the names distinguish the files, and are few enough for a query.
    """

    added: Mapping[int, tuple[str, ...]]
    touched: tuple[str, ...]
    removes_rows: bool
    named: bool


def file_action(version: int, line: str) -> FileAction:
    """Return the action of a line of a commit."""
    ((kind, action),) = json.loads(line).items()
    stats = json.loads(action.get("stats") or "{}")
    changes, rows = action.get("dataChange", True), stats.get("numRecords")
    return FileAction(version, action["path"], kind == "add", changes, rows)


def file_changes(actions: Iterable[FileAction], upto: int) -> FileChanges:
    """Sum up the actions of the commits up to version `upto`."""
    brought: dict[str, int] = {}
    left: set[str] = set()
    touched: dict[str, None] = {}
    removes_rows = False
    for action in sorted(actions, key=lambda a: (a.version, a.adds)):
        touched[action.path] = None
        if not action.adds:
            left.add(action.path)
            removes_rows = removes_rows or action.changes_rows
            continue
        left.discard(action.path)
        if action.changes_rows:
            brought[action.path] = action.version
    by_version: dict[int, list[str]] = {}
    for path, version in brought.items():
        by_version.setdefault(version if path in left else upto, []).append(_name(path))
    names = tuple(map(_name, touched))
    unique = all(map(_UNIQUE_NAME.match, names)) and len(names) <= MOST_FILES
    added = {version: tuple(files) for version, files in sorted(by_version.items())}
    return FileChanges(added, names, removes_rows, unique)


def changed_rows(
    actions: Iterable[FileAction], counted: Mapping[int, int | None], whole: int
) -> int:
    """Return at most how many rows the commits of some actions added, changed and removed.

    Args:
        actions: What happened to the files.
        counted: What a commit reports itself, by version.
        whole: Counts for a commit whose files do not have their numbers of rows.
    """
    by_version: dict[int, list[int | None]] = {}
    for action in actions:
        if action.changes_rows:
            by_version.setdefault(action.version, []).append(action.rows)
    total = 0
    for version, files in by_version.items():
        own = counted.get(version)
        known = [rows for rows in files if rows is not None]
        total += own if own is not None else sum(known) if len(known) == len(files) else whole
    return total


def _name(path: str) -> str:
    return unquote(path).rpartition("/")[2]
