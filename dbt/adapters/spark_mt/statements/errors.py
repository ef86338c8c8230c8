"""What can be wrong with the text of a statement: one class per condition.

Each is a `StatementSyntaxError`; nothing was read from or done to any table when it is raised.
The parameters `statement, line, column, found, excerpt` are always there.
"""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import (
    InvalidFreshnessError,
    InvalidFreshnessUnitError,
)
from dbt.adapters.spark_mt.definition.start_mode import InvalidStartModeError
from dbt.adapters.spark_mt.definition.state_retention import InvalidStateRetentionError

_AT = "{statement}, line {line}, column {column}: "
_SHOWN = "\n{excerpt}"


class StatementSyntaxError(MaterializedTableError):
    """A statement about materialized tables does not follow the grammar."""

    condition = "MATERIALIZED_TABLE_SYNTAX_ERROR"
    text = _AT + "found {found}, but expected {expected}." + _SHOWN
    remedy = "Correct the statement and run it again; nothing was done."


class UnreadableTextError(StatementSyntaxError):
    """The text cannot be split into words: a quote or comment is never closed."""

    condition = "MATERIALIZED_TABLE_UNREADABLE_TEXT"
    text = _AT + "this is {problem}." + _SHOWN
    remedy = "Close it; a quote inside a text is written doubled or behind a backslash."


class UnknownClauseError(StatementSyntaxError):
    """A word stands where a clause must begin, and no clause begins with it."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_CLAUSE"
    text = _AT + "{found} begins no clause." + _SHOWN
    remedy = "{suggestion}The clauses are, in this order: {clauses}."


class UnknownValueError(StatementSyntaxError):
    """A clause that takes one of a few words holds another one."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_VALUE"
    text = _AT + "{found} is no value of {clause}." + _SHOWN
    remedy = "{suggestion}The values are {values}."


class ClauseOutOfOrderError(StatementSyntaxError):
    """A clause stands after one that it must precede."""

    condition = "MATERIALIZED_TABLE_CLAUSE_OUT_OF_ORDER"
    text = _AT + "{clause} stands in the wrong place." + _SHOWN
    remedy = "It belongs before {before}. The clauses are, in this order: {clauses}."


class RepeatedClauseError(StatementSyntaxError):
    """A clause stands twice in a statement."""

    condition = "MATERIALIZED_TABLE_REPEATED_CLAUSE"
    text = _AT + "{clause} stands there twice." + _SHOWN
    remedy = "Keep one of them."


class MissingEqualsError(StatementSyntaxError):
    """A clause lacks its equals sign (the slip of seed 492's first example)."""

    condition = "MATERIALIZED_TABLE_MISSING_EQUALS"
    text = _AT + "{clause} needs an equals sign before {found}." + _SHOWN
    remedy = "Write {suggestion}."


class MissingCommaError(StatementSyntaxError):
    """Two columns of a query stand side by side (the slip of seed 435's examples)."""

    condition = "MATERIALIZED_TABLE_MISSING_COMMA"
    text = _AT + "a comma is missing before {found}." + _SHOWN
    remedy = "Write {suggestion}."


class MissingAsError(StatementSyntaxError):
    """A query begins without AS."""

    condition = "MATERIALIZED_TABLE_MISSING_AS"
    text = _AT + "AS is missing before the query." + _SHOWN
    remedy = "Write AS {found} …"


class IntervalFormError(StatementSyntaxError):
    """An interval is spelt in another of Spark's forms."""

    condition = "MATERIALIZED_TABLE_INTERVAL_FORM"
    text = _AT + "an interval is a number in quotes and a unit." + _SHOWN
    remedy = "Write {suggestion}."


class FreshnessSyntaxError(StatementSyntaxError, InvalidFreshnessError):
    """FRESHNESS holds no positive whole number."""

    condition = InvalidFreshnessError.condition
    text = _AT + InvalidFreshnessError.text + _SHOWN
    remedy = "Write a whole number greater than 0, such as INTERVAL '3' MINUTE."


class FreshnessUnitSyntaxError(StatementSyntaxError, InvalidFreshnessUnitError):
    """FRESHNESS has a unit that no schedule knows, such as MONTH."""

    condition = InvalidFreshnessUnitError.condition
    text = _AT + InvalidFreshnessUnitError.text + _SHOWN
    remedy = (
        "{suggestion}MONTH and YEAR are units of START_MODE only; 30 days are INTERVAL '30' DAY."
    )


class StartModeSyntaxError(StatementSyntaxError, InvalidStartModeError):
    """START_MODE's keyword and argument do not fit together."""

    condition = InvalidStartModeError.condition
    text = _AT + InvalidStartModeError.text + _SHOWN
    remedy = InvalidStartModeError.remedy


class StateRetentionSyntaxError(StatementSyntaxError, InvalidStateRetentionError):
    """STATE_RETENTION names operators where it cannot."""

    condition = InvalidStateRetentionError.condition
    text = _AT + InvalidStateRetentionError.text + _SHOWN
    remedy = "Leave the operators out, or write STATE_RETENTION = PTF_ONLY({found} …)."


class MultipleStatementsError(StatementSyntaxError):
    """Something follows the semicolon."""

    condition = "MATERIALIZED_TABLE_MULTIPLE_STATEMENTS"
    text = _AT + "{found} begins a second statement." + _SHOWN
    remedy = "Run the statements one by one; nothing of either was done."


class TemporaryTableError(StatementSyntaxError):
    """CREATE TEMPORARY MATERIALIZED TABLE."""

    condition = "MATERIALIZED_TABLE_TEMPORARY"
    text = (
        _AT
        + "a materialized table cannot be temporary: its refresh outlives the session."
        + (_SHOWN)
    )
    remedy = "Leave {found} out, or create a temporary view, which stores no rows."


class IfNotExistsFormError(StatementSyntaxError):
    """IF NOT EXISTS together with OR ALTER or OR REPLACE."""

    condition = "MATERIALIZED_TABLE_IF_NOT_EXISTS"
    text = _AT + "IF NOT EXISTS goes only with plain CREATE." + _SHOWN
    remedy = (
        "{form} already says what happens to an existing table: leave IF NOT EXISTS out. With "
        "plain CREATE … IF NOT EXISTS an existing table is left as it is, whatever its definition."
    )


class DistributedTableError(StatementSyntaxError):
    """DISTRIBUTED BY, CLUSTERED BY … INTO BUCKETS."""

    condition = "MATERIALIZED_TABLE_DISTRIBUTED"
    text = _AT + "{found}: Delta tables have no buckets." + _SHOWN
    remedy = "Write CLUSTER BY (column, …), which lays out the files by these columns."


class PartitionedAndClusteredError(StatementSyntaxError):
    """PARTITIONED BY and CLUSTER BY in one statement."""

    condition = "MATERIALIZED_TABLE_PARTITIONED_AND_CLUSTERED"
    text = (
        _AT + "a table is either partitioned or clustered, and {other} is given already." + (_SHOWN)
    )
    remedy = (
        "Keep one: CLUSTER BY can be changed later, PARTITIONED BY allows the refresh of single "
        "partitions and cannot be changed without writing the table anew."
    )


class UnsupportedConstraintError(StatementSyntaxError):
    """UNIQUE, FOREIGN KEY and constraints behind a column."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_CONSTRAINT"
    text = _AT + "{found} is no constraint of a materialized table." + _SHOWN
    remedy = (
        "The constraints are PRIMARY KEY (column, …) NOT ENFORCED and CHECK (condition), each an "
        "item of its own in the column list. A dbt test checks uniqueness without a key."
    )


class EnforcedKeyError(StatementSyntaxError):
    """A PRIMARY KEY without NOT ENFORCED."""

    condition = "MATERIALIZED_TABLE_ENFORCED_KEY"
    text = _AT + "a key is never enforced by the table; the only mode is NOT ENFORCED." + _SHOWN
    remedy = (
        "Write PRIMARY KEY (column, …) NOT ENFORCED. A refresh that would store a NULL or a "
        "duplicate in it fails and names the values."
    )


class UnsupportedColumnOptionError(StatementSyntaxError):
    """DEFAULT, GENERATED and the like behind a column's type."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_COLUMN_OPTION"
    text = _AT + "{found} does not go with a column whose values come from a query." + _SHOWN
    remedy = "Behind its type a column takes NOT NULL and COMMENT; compute values in the query."


class MixedColumnListError(StatementSyntaxError):
    """Names alone and names with types in one column list."""

    condition = "MATERIALIZED_TABLE_MIXED_COLUMN_LIST"
    text = _AT + "a column list gives types for all of its columns or for none." + _SHOWN
    remedy = (
        "Names alone rename the query's columns by position; with types they are matched by name. "
        "Without a type: {bare}. With one: {typed}."
    )


class DuplicateNameError(StatementSyntaxError):
    """A name stands twice in a list."""

    condition = "MATERIALIZED_TABLE_DUPLICATE_NAME"
    text = _AT + "{what} {names} given more than once." + _SHOWN
    remedy = "Keep one of each."


class TableHintError(StatementSyntaxError):
    """Flink's hint `/*+ OPTIONS(…) */` behind a table in the query."""

    condition = "MATERIALIZED_TABLE_TABLE_HINT"
    text = _AT + "Spark has no hints behind a table, such as Flink's OPTIONS(…)." + _SHOWN
    remedy = (
        "Leave it out. From where the sources are read is said by {twin}, which stands before AS, "
        "in ALTER behind SET."
    )


class UnsupportedAlterError(StatementSyntaxError):
    """ALTER … RENAME, SWAP, ADD COLUMN and other forms that tables have."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_ALTER"
    text = _AT + "ALTER MATERIALIZED TABLE has no form {form}." + _SHOWN
    remedy = "{suggestion}The forms are {forms}. {instead}"


class UnsupportedExplainError(StatementSyntaxError):
    """EXPLAIN of a statement that changes no definition, or in one of Spark's modes."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_EXPLAIN"
    text = _AT + "EXPLAIN does not take {what}." + _SHOWN
    remedy = (
        "It shows what CREATE … and ALTER … AS query would do, without doing it, and has no modes."
    )
