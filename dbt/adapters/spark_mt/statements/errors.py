"""Syntax errors of statements: one class per condition.

Each is a `StatementSyntaxError`. No table has been read or changed when one is raised. The
parameters `statement, line, column, found, excerpt` are always present.
"""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

_AT = "{statement}, line {line}, column {column}: "
_EXCERPT = "\n{excerpt}"


class StatementSyntaxError(MaterializedTableError):
    """A statement about materialized tables does not follow the grammar."""

    condition = "MATERIALIZED_TABLE_SYNTAX_ERROR"
    text = _AT + "found {found}, but expected {expected}." + _EXCERPT
    remedy = "Correct the statement and run it again; nothing was done."

    def __init_subclass__(cls) -> None:
        """Put the text of a subclass between the place and the line of the statement."""
        if "text" in vars(cls):
            cls.text = _AT + cls.text + _EXCERPT


class UnreadableTextError(StatementSyntaxError):
    """The text cannot be split into words: a quote or comment is never closed."""

    condition = "MATERIALIZED_TABLE_UNREADABLE_TEXT"
    text = "this is {problem}."
    remedy = "Close it; a quote inside a text is written doubled or after a backslash."


class UnknownClauseError(StatementSyntaxError):
    """A word is where a clause must begin, and no clause begins with it."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_CLAUSE"
    text = "{found} begins no clause."
    remedy = "{suggestion}The clauses are, in this order: {clauses}."


class UnknownValueError(StatementSyntaxError):
    """A clause that takes one of a few words holds another one."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_VALUE"
    text = "{found} is no value of {clause}."
    remedy = "{suggestion}The values are {values}."


class ClauseOutOfOrderError(StatementSyntaxError):
    """A clause comes after one that it must precede."""

    condition = "MATERIALIZED_TABLE_CLAUSE_OUT_OF_ORDER"
    text = "{clause} is in the wrong place."
    remedy = "It belongs before {before}. The clauses are, in this order: {clauses}."


class RepeatedClauseError(StatementSyntaxError):
    """A clause is repeated in a statement."""

    condition = "MATERIALIZED_TABLE_REPEATED_CLAUSE"
    text = "{clause} is repeated."
    remedy = "Keep one of them."


class MissingEqualsError(StatementSyntaxError):
    """A clause lacks its equals sign (a slip in the first example of FLIP-492)."""

    condition = "MATERIALIZED_TABLE_MISSING_EQUALS"
    text = "{clause} needs an equals sign before {found}."
    remedy = "Write {suggestion}."


class MissingCommaError(StatementSyntaxError):
    """Two columns of a query follow each other (a slip in the examples of FLIP-435)."""

    condition = "MATERIALIZED_TABLE_MISSING_COMMA"
    text = "a comma is missing before {found}."
    remedy = "Write {suggestion}."


class MissingAsError(StatementSyntaxError):
    """A query begins without AS."""

    condition = "MATERIALIZED_TABLE_MISSING_AS"
    text = "AS is missing before the query."
    remedy = "Write AS {found} …"


class IntervalFormError(StatementSyntaxError):
    """An interval is spelt in another of Spark's forms."""

    condition = "MATERIALIZED_TABLE_INTERVAL_FORM"
    text = "an interval is a number in quotes and a unit."
    remedy = "Write {suggestion}."


class MultipleStatementsError(StatementSyntaxError):
    """Something follows the semicolon."""

    condition = "MATERIALIZED_TABLE_MULTIPLE_STATEMENTS"
    text = "{found} begins a second statement."
    remedy = "Run the statements one by one; nothing of either was done."


class TemporaryTableError(StatementSyntaxError):
    """CREATE, ALTER or DROP TEMPORARY MATERIALIZED TABLE."""

    condition = "MATERIALIZED_TABLE_TEMPORARY"
    text = "a materialized table cannot be temporary: its refresh continues after the session."
    remedy = "Leave {temporary} out{otherwise}."


class IfNotExistsFormError(StatementSyntaxError):
    """IF NOT EXISTS together with OR ALTER or OR REPLACE."""

    condition = "MATERIALIZED_TABLE_IF_NOT_EXISTS"
    text = "IF NOT EXISTS goes only with plain CREATE."
    remedy = (
        "{form} already says what happens to an existing table: leave IF NOT EXISTS out. With "
        "plain CREATE … IF NOT EXISTS an existing table is left as it is, whatever its definition."
    )


class DistributedTableError(StatementSyntaxError):
    """DISTRIBUTED BY, CLUSTERED BY … INTO BUCKETS."""

    condition = "MATERIALIZED_TABLE_DISTRIBUTED"
    text = "{found}: materialized tables have no buckets."
    remedy = "Write CLUSTER BY (column, …), which lays out the files by these columns."


class PartitionedAndClusteredError(StatementSyntaxError):
    """PARTITIONED BY and CLUSTER BY in one statement."""

    condition = "MATERIALIZED_TABLE_PARTITIONED_AND_CLUSTERED"
    text = "a table is either partitioned or clustered, and {other} is given already."
    remedy = (
        "Keep one: CLUSTER BY can be changed later, PARTITIONED BY allows the refresh of single "
        "partitions and cannot be changed without writing the table again."
    )


class UnsupportedConstraintError(StatementSyntaxError):
    """UNIQUE, FOREIGN KEY and constraints of a single column."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_CONSTRAINT"
    text = "{found} is no constraint of a materialized table."
    remedy = "{instead}"


class EnforcedKeyError(StatementSyntaxError):
    """A PRIMARY KEY without NOT ENFORCED."""

    condition = "MATERIALIZED_TABLE_ENFORCED_KEY"
    text = "a key is never enforced by the table; the only mode is NOT ENFORCED."
    remedy = (
        "Write PRIMARY KEY (column, …) NOT ENFORCED. A refresh that would store a NULL or a "
        "duplicate in it fails and names the values."
    )


class UnsupportedColumnOptionError(StatementSyntaxError):
    """AS, DEFAULT, GENERATED and the like after a column's name or type."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_COLUMN_OPTION"
    text = "{found} does not go with a column whose values come from a query."
    remedy = "{instead}"


class WatermarkClauseError(StatementSyntaxError):
    """WATERMARK FOR column AS … in a column list."""

    condition = "MATERIALIZED_TABLE_WATERMARK_CLAUSE"
    text = "a watermark is an option here and no item of the column list."
    remedy = "Leave it out, and write WITH ({option}) before FRESHNESS."


class MixedColumnListError(StatementSyntaxError):
    """Names alone and names with types in one column list."""

    condition = "MATERIALIZED_TABLE_MIXED_COLUMN_LIST"
    text = "a column list gives types for all of its columns or for none."
    remedy = (
        "Names alone rename the query's columns by position; with types they are matched by name. "
        "Without a type: {bare}. With one: {typed}."
    )


class DuplicateNameError(StatementSyntaxError):
    """A name is repeated in a list."""

    condition = "MATERIALIZED_TABLE_DUPLICATE_NAME"
    text = "{what} {names} given more than once."
    remedy = "Keep one of each."


class TableHintError(StatementSyntaxError):
    """Flink's hint `/*+ OPTIONS(…) */` after a table in the query."""

    condition = "MATERIALIZED_TABLE_TABLE_HINT"
    text = "Spark has no hints after a table, such as Flink's OPTIONS(…)."
    remedy = (
        "Leave it out. {twin} sets from where the sources are read; write it before AS, in ALTER "
        "after SET."
    )


class UnsupportedAlterError(StatementSyntaxError):
    """ALTER … RENAME, SWAP, ADD COLUMN and other forms that tables have."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_ALTER"
    text = "ALTER MATERIALIZED TABLE has no form {form}."
    remedy = "{suggestion}{instead} The forms are {forms}."


class UnsupportedExplainError(StatementSyntaxError):
    """EXPLAIN of a statement that changes no definition, or in one of Spark's modes."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_EXPLAIN"
    text = "EXPLAIN does not take {what}."
    remedy = (
        "It shows what CREATE … and ALTER … AS query would do, without doing it, and has no modes."
    )
