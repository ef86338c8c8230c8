"""Syntax errors of statements: one class per condition.

Each is a `StatementSyntaxError`. No table has been read or changed when one is raised. The
parameters `statement, line, column, found, excerpt` are always present.
"""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

AT = "{statement}, line {line}, column {column}: "
EXCERPT = "\n{excerpt}"


class StatementSyntaxError(MaterializedTableError):
    """A statement about materialized tables does not follow the grammar."""

    condition = "MATERIALIZED_TABLE_SYNTAX_ERROR"
    text = AT + "found {found}, but expected {expected}." + EXCERPT
    remedy = "Correct the statement and run it again; nothing was done."


class UnreadableTextError(StatementSyntaxError):
    """The text cannot be split into words: a quote or comment is never closed."""

    condition = "MATERIALIZED_TABLE_UNREADABLE_TEXT"
    text = AT + "this is {problem}." + EXCERPT
    remedy = "Close it; a quote inside a text is written doubled or after a backslash."


class UnknownClauseError(StatementSyntaxError):
    """A word is where a clause must begin, and no clause begins with it."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_CLAUSE"
    text = AT + "{found} begins no clause." + EXCERPT
    remedy = "{suggestion}The clauses are, in this order: {clauses}."


class UnknownValueError(StatementSyntaxError):
    """A clause that takes one of a few words holds another one."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_VALUE"
    text = AT + "{found} is no value of {clause}." + EXCERPT
    remedy = "{suggestion}The values are {values}."


class ClauseOutOfOrderError(StatementSyntaxError):
    """A clause comes after one that it must precede."""

    condition = "MATERIALIZED_TABLE_CLAUSE_OUT_OF_ORDER"
    text = AT + "{clause} is in the wrong place." + EXCERPT
    remedy = "It belongs before {before}. The clauses are, in this order: {clauses}."


class RepeatedClauseError(StatementSyntaxError):
    """A clause is repeated in a statement."""

    condition = "MATERIALIZED_TABLE_REPEATED_CLAUSE"
    text = AT + "{clause} is repeated." + EXCERPT
    remedy = "Keep one of them."


class MissingEqualsError(StatementSyntaxError):
    """A clause lacks its equals sign (a slip in the first example of FLIP-492)."""

    condition = "MATERIALIZED_TABLE_MISSING_EQUALS"
    text = AT + "{clause} needs an equals sign before {found}." + EXCERPT
    remedy = "Write {suggestion}."


class MissingCommaError(StatementSyntaxError):
    """Two columns of a query follow each other (a slip in the examples of FLIP-435)."""

    condition = "MATERIALIZED_TABLE_MISSING_COMMA"
    text = AT + "a comma is missing before {found}." + EXCERPT
    remedy = "Write {suggestion}."


class MissingAsError(StatementSyntaxError):
    """A query begins without AS."""

    condition = "MATERIALIZED_TABLE_MISSING_AS"
    text = AT + "AS is missing before the query." + EXCERPT
    remedy = "Write AS {found} …"


class IntervalFormError(StatementSyntaxError):
    """An interval is spelt in another of Spark's forms."""

    condition = "MATERIALIZED_TABLE_INTERVAL_FORM"
    text = AT + "an interval is a number in quotes and a unit." + EXCERPT
    remedy = "Write {suggestion}."


class MultipleStatementsError(StatementSyntaxError):
    """Something follows the semicolon."""

    condition = "MATERIALIZED_TABLE_MULTIPLE_STATEMENTS"
    text = AT + "{found} begins a second statement." + EXCERPT
    remedy = "Run the statements one by one; nothing of either was done."


class TemporaryTableError(StatementSyntaxError):
    """CREATE, ALTER or DROP TEMPORARY MATERIALIZED TABLE."""

    condition = "MATERIALIZED_TABLE_TEMPORARY"
    text = (
        AT
        + "a materialized table cannot be temporary: its refresh continues after the session."
        + EXCERPT
    )
    remedy = "Leave {temporary} out{otherwise}."


class IfNotExistsFormError(StatementSyntaxError):
    """IF NOT EXISTS together with OR ALTER or OR REPLACE."""

    condition = "MATERIALIZED_TABLE_IF_NOT_EXISTS"
    text = AT + "IF NOT EXISTS goes only with plain CREATE." + EXCERPT
    remedy = (
        "{form} already says what happens to an existing table: leave IF NOT EXISTS out. With "
        "plain CREATE … IF NOT EXISTS an existing table is left as it is, whatever its definition."
    )


class DistributedTableError(StatementSyntaxError):
    """DISTRIBUTED BY, CLUSTERED BY … INTO BUCKETS."""

    condition = "MATERIALIZED_TABLE_DISTRIBUTED"
    text = AT + "{found}: materialized tables have no buckets." + EXCERPT
    remedy = "Write CLUSTER BY (column, …), which lays out the files by these columns."


class PartitionedAndClusteredError(StatementSyntaxError):
    """PARTITIONED BY and CLUSTER BY in one statement."""

    condition = "MATERIALIZED_TABLE_PARTITIONED_AND_CLUSTERED"
    text = (
        AT + "a table is either partitioned or clustered, and {other} is given already." + EXCERPT
    )
    remedy = (
        "Keep one: CLUSTER BY can be changed later, PARTITIONED BY allows the refresh of single "
        "partitions and cannot be changed without writing the table again."
    )


class UnsupportedConstraintError(StatementSyntaxError):
    """UNIQUE, FOREIGN KEY and constraints of a single column."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_CONSTRAINT"
    text = AT + "{found} is no constraint of a materialized table." + EXCERPT
    remedy = "{instead}"


class EnforcedKeyError(StatementSyntaxError):
    """A PRIMARY KEY without NOT ENFORCED."""

    condition = "MATERIALIZED_TABLE_ENFORCED_KEY"
    text = AT + "a key is never enforced by the table; the only mode is NOT ENFORCED." + EXCERPT
    remedy = (
        "Write PRIMARY KEY (column, …) NOT ENFORCED. A refresh that would store a NULL or a "
        "duplicate in it fails and names the values."
    )


class UnsupportedColumnOptionError(StatementSyntaxError):
    """AS, DEFAULT, GENERATED and the like after a column's name or type."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_COLUMN_OPTION"
    text = AT + "{found} does not go with a column whose values come from a query." + EXCERPT
    remedy = "{instead}"


class WatermarkClauseError(StatementSyntaxError):
    """WATERMARK FOR column AS … in a column list."""

    condition = "MATERIALIZED_TABLE_WATERMARK_CLAUSE"
    text = AT + "a watermark is an option here and no item of the column list." + EXCERPT
    remedy = "Leave it out, and write WITH ({option}) before FRESHNESS."


class MixedColumnListError(StatementSyntaxError):
    """Names alone and names with types in one column list."""

    condition = "MATERIALIZED_TABLE_MIXED_COLUMN_LIST"
    text = AT + "a column list gives types for all of its columns or for none." + EXCERPT
    remedy = (
        "Names alone rename the query's columns by position; with types they are matched by name. "
        "Without a type: {bare}. With one: {typed}."
    )


class DuplicateNameError(StatementSyntaxError):
    """A name is repeated in a list."""

    condition = "MATERIALIZED_TABLE_DUPLICATE_NAME"
    text = AT + "{what} {names} given more than once." + EXCERPT
    remedy = "Keep one of each."


class TableHintError(StatementSyntaxError):
    """Flink's hint `/*+ OPTIONS(…) */` after a table in the query."""

    condition = "MATERIALIZED_TABLE_TABLE_HINT"
    text = AT + "Spark has no hints after a table, such as Flink's OPTIONS(…)." + EXCERPT
    remedy = (
        "Leave it out. {twin} sets from where the sources are read; write it before AS, in ALTER "
        "after SET."
    )


class UnsupportedAlterError(StatementSyntaxError):
    """ALTER … RENAME, SWAP, ADD COLUMN and other forms that tables have."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_ALTER"
    text = AT + "ALTER MATERIALIZED TABLE has no form {form}." + EXCERPT
    remedy = "{suggestion}{instead} The forms are {forms}."


class UnsupportedExplainError(StatementSyntaxError):
    """EXPLAIN of a statement that changes no definition, or in one of Spark's modes."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_EXPLAIN"
    text = AT + "EXPLAIN does not take {what}." + EXCERPT
    remedy = (
        "It shows what CREATE … and ALTER … AS query would do, without doing it, and has no modes."
    )
