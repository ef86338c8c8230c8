"""What each kind of change does to a table, for the documentation."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark_mt.changes.changes import Changed

_EVERYTHING = "Rows, history, table id, grants, change feed."
_IDENTITY = "History, table id, grants, change feed; readers see the old rows until the commit."
_OLD_ROWS = "The rows that the old query computed."
_NOTHING = "Nothing."


@dataclass(frozen=True, slots=True)
class ChangeDoc:
    """A kind of change.

    Args:
        changes: The kinds of such changes, or the fields of clauses.
        what: What the user changes.
        in_place: What happens.
        kept: What stays.
        lost: What does not.
    """

    changes: tuple[Changed | str, ...]
    what: str
    in_place: str
    kept: str
    lost: str


CHANGES: tuple[ChangeDoc, ...] = (
    ChangeDoc(
        (Changed.QUERY, Changed.QUERY_TEXT, Changed.CONF),
        "The query, or a SQL conf that changes what it means",
        "START_MODE FROM_BEGINNING, the default: all rows are computed and replaced in one commit. "
        "Another start mode: the rows stay, and the new query is applied to what comes later. "
        "Comments, whitespace and the case of keywords alone: one small commit.",
        _IDENTITY,
        f"FROM_BEGINNING: {_OLD_ROWS[0].lower()}{_OLD_ROWS[1:]} Another start mode: {_NOTHING}",
    ),
    ChangeDoc(
        (Changed.COLUMNS_APPENDED,),
        "New columns at the end",
        "Appended by the commit that stores the new query. `ALTER … AS` appends them to the "
        "table's column list as well; the list of a `CREATE OR ALTER` has to name them.",
        f"{_IDENTITY} Rows that stay hold NULL in the new columns.",
        "As for the query.",
    ),
    ChangeDoc(
        (Changed.SOURCE_COLUMNS,),
        "The columns of a source that the query reads by `*`",
        "The next `CREATE OR ALTER` with the same query appends new columns, wherever the source "
        "has them, as a changed query. Moved columns change nothing.",
        _IDENTITY,
        "As for the query.",
    ),
    ChangeDoc(
        (
            Changed.COLUMNS_DROPPED,
            Changed.COLUMNS_MISMATCHED,
        ),
        "Columns dropped, renamed, moved or retyped",
        "Refused; every mismatch is named. Needs `--full-refresh`.",
        _EVERYTHING,
        f"With `--full-refresh`: {_OLD_ROWS[0].lower()}{_OLD_ROWS[1:]}",
    ),
    ChangeDoc(
        (Changed.TYPE_WIDENED,),
        "Wider types, such as INT to BIGINT",
        "With the option `schema.type-widening`: all rows are computed and replaced in one commit. "
        "Without it: refused. On a table that is suspended: refused until it is resumed.",
        "History, table id, grants. Streams that read the table have to begin again.",
        _OLD_ROWS,
    ),
    ChangeDoc(
        (
            Changed.COLUMN_LIST,
            Changed.COLUMN_LIST_TEXT,
        ),
        "The column list",
        "Where each column still comes from the same column of the query: one small commit. "
        "Otherwise as a changed query.",
        _IDENTITY,
        "As for the query.",
    ),
    ChangeDoc(
        (Changed.PRIMARY_KEY, Changed.CHECK_ADDED, Changed.CHECK_DROPPED),
        "Primary key, CHECK",
        "A new one is checked on the rows that are there, which are read once; rows that break it "
        "are named, and the statement changes nothing. Then one small commit.",
        _EVERYTHING,
        _NOTHING,
    ),
    ChangeDoc(
        (
            Changed.NULL_ALLOWED,
            Changed.NULL_FORBIDDEN,
        ),
        "NOT NULL",
        "As a new CHECK; a second small commit adds a constraint to the Delta table, or drops it, "
        "so that other writers cannot write NULL either. Delta reads the rows once more for it.",
        _EVERYTHING,
        _NOTHING,
    ),
    ChangeDoc(
        ("freshness", "refresh_mode"),
        "Freshness, refresh mode",
        "One small commit; an automatic mode follows the freshness, an explicit one stays. The "
        "refresh continues from the positions of the rows. FULL computes all source data, so a "
        "table that did not start from the beginning loses its baseline at its next refresh.",
        _EVERYTHING,
        "To FULL with a baseline: rows that no source holds any more, at the next refresh.",
    ),
    ChangeDoc(
        ("start_mode",),
        "Start mode alone",
        "RESUME_OR_…: one small commit, for the next change of the query. Another one acts at "
        "once, as if the query had changed. FULL: stored, without effect.",
        "As for the query.",
        "As for the query.",
    ),
    ChangeDoc(
        ("state_retention",),
        "State retention",
        "One small commit, for the next change of the query.",
        _EVERYTHING,
        _NOTHING,
    ),
    ChangeDoc(
        ("comment", Changed.COLUMN_COMMENT),
        "Comments",
        "One small commit, and the catalog follows.",
        _EVERYTHING,
        _NOTHING,
    ),
    ChangeDoc(
        (Changed.OPTION,),
        "Options",
        "One small commit; `delta.…` becomes a property of the Delta table, a trigger interval or "
        "date formatter holds from the next run on.",
        _EVERYTHING,
        _NOTHING,
    ),
    ChangeDoc(
        ("clustered_by",),
        "Clustering",
        "One small commit; files are sorted as they are written again, or by OPTIMIZE.",
        _EVERYTHING,
        _NOTHING,
    ),
    ChangeDoc(
        ("partitioned_by",),
        "Partitioning",
        "Refused. Needs `--full-refresh`; from clustered to partitioned DROP and CREATE.",
        _EVERYTHING,
        f"With `--full-refresh`: {_OLD_ROWS[0].lower()}{_OLD_ROWS[1:]}",
    ),
)
"""Every kind of change, the ones of the query first."""
