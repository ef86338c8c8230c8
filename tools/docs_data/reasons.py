"""Engines, strategies and every reason for them, for the documentation; tests check it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dbt.adapters.spark_mt.strategies.strategy import (
    APPEND,
    BATCH,
    DIFFERENTIAL,
    INCREMENTAL,
    MERGE,
    RECOMPUTE,
    STATEFUL,
    STREAM,
    WINDOW,
)


class About(Enum):
    """What a reason says."""

    CHOICE = "Why a table is kept as it is"
    OPERATOR = "What an operator of a stream keeps and emits"
    NO_STREAM = "Why a query is no stream"
    NOT_ROW_WISE = "Why rows of the result are not made of one row of a source each"
    NOT_UNDERSTOOD = "Why the operators of a query are not known, so that all rows are computed"
    NOT_DERIVED = "Why the change of a result is not derived from the changes of the sources"
    REFRESH = "Why a strategy is not used for a table with a baseline, or by one refresh"


@dataclass(frozen=True, slots=True)
class EngineDoc:
    """An engine with a strategy.

    Args:
        name: As EXPLAIN shows it.
        when: For which tables it is chosen.
        how: What it does.
        cost: What an update costs.
    """

    name: str
    when: str
    how: str
    cost: str


ENGINES = (
    EngineDoc(
        f"{BATCH}/{RECOMPUTE}",
        "REFRESH_MODE is FULL, or AUTOMATIC with a freshness of the threshold or more.",
        "Computes the query over one state of all sources and replaces the rows in one commit.",
        "The whole query.",
    ),
    EngineDoc(
        f"{STREAM}/{APPEND}",
        "Each row of the result is made of one row of one source (projections, filters, explode, "
        "lookup joins, views of these), and the source can be read as a stream. Without a PRIMARY "
        "KEY; or with one over a log, by which rows replace rows.",
        "Adds what the query makes of new source rows, one commit a batch.",
        "The new rows.",
    ),
    EngineDoc(
        f"{INCREMENTAL}/{APPEND}",
        "The same over several sources with versions or offsets (UNION ALL), without a PRIMARY "
        "KEY. Also a refresh on request of a table that a stream without a checkpoint keeps.",
        "Adds what the query makes of the rows that all sources gained up to one moment.",
        "The new rows.",
    ),
    EngineDoc(
        f"{STREAM}/{STATEFUL}",
        "The query groups, deduplicates or joins streams, and asks for a stream: by STREAM, by a "
        "watermark (in the query, or the option `watermark`), or because all of its sources are "
        "logs. Only where rows come out right: see the reasons below.",
        "Keeps groups, seen rows and unmatched rows in Spark's state store; each batch replaces "
        "the groups that it touched, or adds those that are closed.",
        "The new rows, and the state.",
    ),
    EngineDoc(
        f"{INCREMENTAL}/{MERGE}",
        "The table counts from a baseline and has a PRIMARY KEY that is what the query groups by, "
        "or what distinguishes its rows. Groups need rows that the table keeps from before.",
        "Computes the rows of every key that a change touches over all source data, in one MERGE.",
        "The source rows of the touched keys, and reading the sources.",
    ),
    EngineDoc(
        f"{INCREMENTAL}/{WINDOW}",
        "The table counts from a baseline and kept no older rows (START_MODE of a new table). Also "
        "where added rows alone are not enough, because rows of a source changed.",
        "Computes all rows over the source rows since the start.",
        "The source rows since the start.",
    ),
    EngineDoc(
        f"{INCREMENTAL}/{DIFFERENTIAL}",
        "The option `incremental` is not `off`, all sources have versions, and there is a rule for "
        "every part of the query. In mode CONTINUOUS, or in mode FULL that followed from the "
        "freshness. Refreshes of few changed rows only.",
        "Derives the rows that the result gained and lost from the rows that the sources gained "
        "and lost, and applies them in one commit.",
        "The changed rows of the sources, and reading the rows that they are joined or grouped "
        "with.",
    ),
    EngineDoc(
        f"{STREAM}/{RECOMPUTE}",
        "The first rows of a table that a stream with a checkpoint keeps, or that lost it.",
        "Computes all rows by a stream with a new checkpoint, in one commit.",
        "The whole query.",
    ),
    EngineDoc(
        f"{INCREMENTAL}/{RECOMPUTE}",
        "Everything else in mode CONTINUOUS.",
        "Computes the query over one state of all sources whenever one of them has changed.",
        "The whole query.",
    ),
)


@dataclass(frozen=True, slots=True)
class ReasonDoc:
    """A code and what it means."""

    code: str
    about: About
    meaning: str


def _docs(about: About, meanings: dict[str, str]) -> tuple[ReasonDoc, ...]:
    return tuple(ReasonDoc(code, about, meaning) for code, meaning in meanings.items())


_CHOICE = {
    "FULL_MODE": "REFRESH_MODE is FULL: every refresh computes the query.",
    "ROW_WISE": "Every row of the result is made of one row of one source.",
    "SEVERAL_SOURCES": "What several sources gained is added over one state of all of them, which "
    "a stream does not have: it reads one after the other.",
    "UPSERT": "The table has a PRIMARY KEY, and its sources only add rows: a row replaces the one "
    "with the same key.",
    "PRIMARY_KEY": "The table has a PRIMARY KEY and a source whose rows may change, so that a row "
    "may have to go.",
    "STREAM_QUERY": "The query says STREAM itself.",
    "PROCESS_FUNCTION": "A stateful processor makes the rows, and keeps state by its keys.",
    "PROCESS_INPUT": "The query that feeds a process function must not keep state itself.",
    "WATERMARK_DECLARED": "The option `watermark`, or WATERMARK in the query, asks for a stream.",
    "ONLY_LOGS": "All sources are logs or folders of files, which a stream reads once.",
    "GROUPS": "The query groups rows. Where a stream keeps the groups as state, the reason names "
    "them.",
    "VERSIONED_SOURCE": "A source with versions (Delta, Iceberg) is followed by them.",
    "LOG_SOURCE": "A source is followed by its log: a topic, or a folder to which files are added.",
    "READ_WHOLE": "A source without versions is read as a whole at each refresh.",
    "TIME_OF_BATCH": "A function of time has the value of the batch that made the row.",
    "WATERMARK": "Rows that come later than that may be left out.",
    "WATERMARK_UNUSED": "The watermark has no effect, because no row waits for others.",
}
_OPERATOR = {
    "UPDATE_MODE": "Each batch emits the groups that it touched; they replace what they were.",
    "APPEND_MODE": "Rows are emitted when nothing can change them any more.",
    "DISTINCT": "Rows that were seen are kept as state; in a plain query, DISTINCT compares rows.",
    "JOIN": "Rows of two streams are kept as state until their partners came; or streams cannot be "
    "joined so.",
    "STATIC_SIDE": "One side of a join is no stream; each batch reads it as it is then.",
    "UNBOUNDED_STATE": "No watermark bounds the state, which grows with the data.",
    "SESSION_WINDOW": "Sessions come when they are closed, because they can grow together.",
}
_NO_STREAM = {
    "NO_WATERMARK": "No watermark decides when a row or a group is final.",
    "KEY_NOT_IN_RESULT": "A column that is grouped by is not in the result, so that the group "
    "cannot be found again.",
    "KEY_IS_NOT_GROUP": "The PRIMARY KEY is not what the query groups by.",
    "FILTER_AFTER_GROUPS": "HAVING, or another filter over groups: a group that no longer fits "
    "would stay.",
    "SECOND_STATE": "Groups of groups: earlier values of the inner ones would still be counted.",
    "ROWS_OF_STATE": "Several rows are made of one that may change.",
    "JOIN_AFTER_STATE": "Rows that may change are joined.",
    "UNION_OF_STATE": "Groups of several sides are added together.",
    "UNION_WITH_STATIC": "Rows of a stream are added to rows that are none.",
    "DISTINCT_AGGREGATE": "An aggregate over DISTINCT values.",
    "GLOBAL_AGGREGATE": "All rows become one, which is there even when there are no rows.",
    "GROUPING_SETS": "ROLLUP, CUBE or GROUPING SETS.",
    "SESSION_WINDOW_ALONE": "A session window without another column to group by.",
    "OUTER_JOIN": "Unmatched rows: of streams they come late, of the other side never.",
    "WINDOW_FUNCTION": "A function OVER other rows.",
    "SUBQUERY": "A followed source in a subquery of an expression.",
    "SORT": "ORDER BY.",
    "LIMIT": "LIMIT.",
    "OFFSET": "OFFSET.",
    "SAMPLE": "TABLESAMPLE.",
    "INTERSECT": "INTERSECT.",
    "EXCEPT": "EXCEPT.",
    "OPERATOR": "An operator of which nothing is known here.",
    "VERSION": "A followed source is read at a fixed version as well.",
    "NOT_A_STREAM": "A source has a format that no stream reads.",
    "NO_STREAM": "There is no source that could be followed.",
    "UNNAMED_STREAM": "A stream without a name in a catalog.",
    "NONDETERMINISTIC": "A function whose value differs from run to run.",
    "NOT_PINNABLE": "The text does not show where each source is read (IDENTIFIER(…), TABLE t …).",
    "UNCLEAR_PLAN": "The text does not show clearly what a stream of the query keeps: a name in it "
    "may mean another column.",
}
_NOT_ROW_WISE = {
    "AGGREGATE": "An aggregate without GROUP BY.",
    "NO_KEY": "GROUP BY without a PRIMARY KEY.",
    "CONSTANT_ROWS": "Rows that no source gives.",
    "FUNCTION": "A persistent function.",
    "FETCH": "FETCH FIRST.",
    "GENERATOR": "A generator such as `explode` inside another expression.",
    "GROUP": "GROUP BY below another operator, such as a join or a second GROUP BY.",
    "HAVING": "HAVING.",
    "LATERAL": "A LATERAL subquery.",
    "LOOKED_UP_AND_FOLLOWED": "A table is looked up and read in another place as well.",
    "LOOKUP_FIRST": "The rows come from a table that is looked up.",
    "NATURAL": "A NATURAL JOIN whose columns are not known.",
    "PIVOT": "PIVOT.",
    "QUALIFY": "QUALIFY.",
    "RECURSIVE": "A recursive CTE.",
    "RELATION": "VALUES, or something else that is no table, in a table's place.",
    "SCRIPT": "TRANSFORM with a script.",
    "SELECT_KIND": "A form of SELECT that is not known here.",
    "TABLE_FUNCTION": "A table function.",
    "TIME_DEPENDENT": "`current_date` and the like, which change without any source.",
    "UNION_BY_NAME": "UNION BY NAME of different columns.",
    "UNION_DISTINCT": "UNION, which compares rows.",
    "UNKNOWN_FUNCTION": "A function that could be an aggregate.",
    "UNREADABLE": "The text cannot be parsed.",
    "VERSION_IN_VIEW": "A view reads a fixed version of a table.",
}
_NOT_UNDERSTOOD = {
    "ALIAS": "A column of the same SELECT is used again, whose value is random or a subquery.",
    "AMBIGUOUS_COLUMN": "A name means several columns.",
    "ARGUMENT_NAMES": "A function names the fields of its result by its arguments (`arrays_zip`).",
    "COLUMNS": "Spark's result has other columns than the text shows.",
    "CONF": "A SQL conf without its default, by which Spark may read the text otherwise. The "
    "reason names it.",
    "IDENTIFIER": "IDENTIFIER(…) names a relation, a column or a function.",
    "METADATA": "A column `_metadata` of a source describes files. OPTIMIZE changes it without a "
    "change of a row.",
    "ORDER": "SELECT DISTINCT is sorted by a column that it does not select.",
    "SET_OPERATION": "The sides of a set operation have different numbers of columns.",
    "STAR": "`*` stands for columns that are not known, or for the fields of a column.",
    "SYNTAX": "The text has syntax that the operators do not hold, so that they cannot be trusted.",
    "UNBOUND": "An expression uses a column that its input does not have.",
    "UNEXPECTED": "The analysis of the query failed. The log has the error, and asks for a report.",
    "UNKNOWN_COLUMNS": "The columns of a relation are not known.",
    "UNRESOLVED_COLUMN": "A name means no column that is known here.",
    "USING": "USING names a column twice.",
    "VARIANT_PATH": "A path takes a part of a VARIANT (`v:a.b`), which `variant_get` does as well.",
    "VIEW_COLUMNS": "The columns of a view are not known.",
    "VIEW_CONFS": "A view has SQL confs of its own that differ from those of the query.",
}

_NOT_DERIVED = {
    "SWITCHED_OFF": "The option `incremental` is `off`.",
    "TOP_OF_COMPUTED_VALUES": "The first rows of a sorted result with values that another run may "
    "compute otherwise: sums and averages of floating-point numbers, `stddev`, `row_number`.",
    "SUBQUERY_VALUE": "A query computes with a column that is the value of IN (subquery). Spark "
    "merges both, and NULLs then count otherwise.",
    "TOP_ROWS_LEFT": "Rows left the first ones of a sorted result, and rows that are not stored "
    "may follow them; or a row came or went at the place of the last one, and the result does not "
    "show all that it is sorted by.",
    "TOP_OF_OTHER_TYPES": "The first rows of a sorted result, with declared types that are not "
    "those of the query.",
    "GLOBAL_LIMIT": "OFFSET, or a LIMIT: without ORDER BY, above 10,000, or in a part of the "
    "query. A LIMIT of rows that cannot be more is none.",
    "WINDOW_WITHOUT_PARTITION_BY": "A window function without PARTITION BY, of which the query "
    "needs more than the first rows by their rank.",
    "PROCESSING_TIME_LOOKUP": "A table is looked up at the processing time.",
    "JOIN_WITHOUT_KEY": "An outer, semi or anti join without an equality.",
    "LOOKUP": "A table is looked up as of the moment of each refresh.",
    "PATH": "A source is named by its path.",
    "FOREIGN_ROWS": "Another program changed rows of the table, which a recompute overwrites.",
    "PARTITIONS": "Some partitions were refreshed to another state of the sources than the rest.",
    "CHANGE_TOO_LARGE": "More than 15 % of the rows of the sources changed, as their logs report.",
    "CHANGE_FAILED": "The change could not be computed or applied; the reason says why.",
    "MERGE_ON_READ_SOURCE": "A source of Apache Iceberg marks rows as deleted, so that its changes "
    "are found only by comparing all of its rows. With the option `incremental = strict` they are "
    "compared; otherwise the query is computed. The reason names what to set.",
    "SMALL_SOURCES": "The sources have fewer than 500,000 rows: reading them all costs less.",
    "SHORT_RECOMPUTE": "The last recompute took less than 5 seconds.",
    "CHANGES_WOULD_TAKE_LONGER": "Changes were not tried lately, and so many rows changed that a "
    "recompute is estimated to be faster.",
    "CHANGES_TOOK_LONGER": "A refresh by changes takes longer than a recompute, by how long the "
    "last ones took and the number of source rows.",
    "ESTIMATE": "How long a refresh takes by each strategy, by how long the last ones took "
    "and the number of source rows.",
    "OLD_DURATION": "The last recompute was one of the first refreshes of its process, and "
    "refreshes by changes are less than 3 times as fast. Or it was more than 20 refreshes ago, and "
    "they are less than 1.5 times as fast.",
    "SMALL_CHANGE": "About how many rows of the sources changed, as their logs report.",
    "RULES": "Rules by which the change follows from those of the sources.",
    "INCOMPARABLE_TYPE": "A column has a type whose values Spark cannot compare, such as MAP.",
}

_REFRESH = {
    "NO_BASELINE": "The table counts all source rows, so that it needs no strategy for a part.",
    "BASELINE": "The rows count from a baseline (START_MODE, adoption), which this strategy would "
    "ignore.",
    "KEPT_ROWS": "The table keeps rows from before its baseline.",
    "TOUCHED_KEYS": "The rows of every key that a change touches are computed over all source "
    "data.",
    "SINCE_START": "All rows are computed over the source rows since the start of the table.",
    "NO_CHANGE": "No row of the sources changed; the commit records the new positions.",
    "ALL_ROWS": "All rows are asked for: a new table, a forced refresh, or partitions.",
    "ONE_COMMIT": "A refresh on request applies all changes in one commit; a host runs the stream.",
    "POSITIONS_UNKNOWN": "The table does not say up to where it reflects a source.",
    "VIEW_CHANGED": "A view or function of the query has another definition than at the last "
    "refresh.",
    "CHECKPOINT_LOST": "The checkpoint that belongs to the rows is not there.",
    "STREAM_FAILED": "The stream cannot resume, because a source changed under it.",
    "NO_STREAMS": "Streams cannot be run over Spark Connect.",
    "START": "The start of a table computes its rows; a stream resumes after them.",
    "SOURCE_HISTORY_GONE": "What happened to a source since the last refresh cannot be read.",
    "SOURCE_RECREATED": "A source was dropped and created again.",
    "ROWS_CHANGED": "Rows of a source were removed or changed.",
    "SOURCE_TYPES_CHANGED": "Columns that the query reads have other types than the rows of the "
    "table were computed from. Nested fields, their names and their order count.",
}

REASONS = (
    *_docs(About.CHOICE, _CHOICE),
    *_docs(About.OPERATOR, _OPERATOR),
    *_docs(About.NO_STREAM, _NO_STREAM),
    *_docs(About.NOT_ROW_WISE, _NOT_ROW_WISE),
    *_docs(About.NOT_UNDERSTOOD, _NOT_UNDERSTOOD),
    *_docs(About.NOT_DERIVED, _NOT_DERIVED),
    *_docs(About.REFRESH, _REFRESH),
)
