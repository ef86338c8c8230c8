"""The table of conditions: what errors say, and what their remedies cost."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import errors as error_classes
from dbt.adapters.spark_mt.definition.errors import Condition, Group, RemedyCost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

_statement = Condition.of_statement
_definition = partial(Condition, error_classes.MaterializedTableError, Group.DEFINITION)
_invalid = partial(Condition, error_classes.InvalidDefinitionError, Group.DEFINITION)
_value = partial(Condition, error_classes.InvalidValueError, Group.DEFINITION)
_change = partial(Condition, error_classes.MaterializedTableError, Group.CHANGE)
_unsupported = partial(Condition, error_classes.InvalidDefinitionError, Group.CHANGE)
_execution = partial(Condition, error_classes.MaterializedTableError, Group.EXECUTION)
_broken = partial(Condition, error_classes.BaselineBrokenError, Group.EXECUTION)
_spark = partial(Condition, error_classes.MaterializedTableError, Group.SPARK)
_manager = partial(Condition, error_classes.MaterializedTableError, Group.MANAGER)
_client = partial(Condition, error_classes.MaterializedTableError, Group.CLIENT)
_dbt = partial(Condition, error_classes.MaterializedTableError, Group.DBT)

_REPLACE = (
    "replace the table with CREATE OR REPLACE MATERIALIZED TABLE {table} (in dbt: "
    "--full-refresh). That computes all rows again from the sources that exist today. "
    "Options and comments are those of the new statement, and readers see the old table "
    "until it is done"
)
_ALTERNATIVE = (
    "ALTER MATERIALIZED TABLE {table} AS, with a query that joins both, does the same and "
    "computes the table as well."
)
_STATE = "The refresh that meets this suspends the table, which keeps the rows it has. "
_RESTART = (
    "START_MODE = FROM_BEGINNING in CREATE OR ALTER (or ALTER MATERIALIZED TABLE … SET "
    "START_MODE = … AS) computes all rows from all source data, in the place of those that "
    "are there. START_MODE = FROM_NOW keeps them and skips what happened since; where it is "
    "the start mode already, store RESUME_OR_FROM_NOW first."
)
_REMEDY = _STATE + _RESTART


SYNTAX_ERROR = _statement(
    "MATERIALIZED_TABLE_SYNTAX_ERROR",
    "A statement about materialized tables does not follow the grammar.",
    text="found {found}, but expected {expected}.",
    remedy="Correct the statement and run it again; nothing was done.",
)
UNREADABLE_TEXT = _statement(
    "MATERIALIZED_TABLE_UNREADABLE_TEXT",
    "The text cannot be split into words: a quote or comment is never closed.",
    text="this is {problem}.",
    remedy="Close it; a quote inside a text is written doubled or after a backslash.",
)
ADOPT_INSTANT = _statement(
    "MATERIALIZED_TABLE_ADOPT_INSTANT",
    "AS OF of ADOPT holds a text that is no timestamp.",
    text="'{value}' is no timestamp.",
    remedy="Write it as '2026-01-31 08:00:00', in the time zone of the session, or with a zone.",
)
UNKNOWN_CLAUSE = _statement(
    "MATERIALIZED_TABLE_UNKNOWN_CLAUSE",
    "A word is where a clause must begin, and no clause begins with it.",
    text="{found} begins no clause.",
    remedy="{suggestion}The clauses are, in this order: {clauses}.",
)
UNKNOWN_VALUE = _statement(
    "MATERIALIZED_TABLE_UNKNOWN_VALUE",
    "A clause that takes one of a few words holds another one.",
    text="{found} is no value of {clause}.",
    remedy="{suggestion}The values are {values}.",
)
CLAUSE_OUT_OF_ORDER = _statement(
    "MATERIALIZED_TABLE_CLAUSE_OUT_OF_ORDER",
    "A clause comes after one that it must precede.",
    text="{clause} is in the wrong place.",
    remedy="It belongs before {before}. The clauses are, in this order: {clauses}.",
)
REPEATED_CLAUSE = _statement(
    "MATERIALIZED_TABLE_REPEATED_CLAUSE",
    "A clause is repeated in a statement.",
    text="{clause} is repeated.",
    remedy="Keep one of them.",
)
MISSING_EQUALS = _statement(
    "MATERIALIZED_TABLE_MISSING_EQUALS",
    "A clause lacks its equals sign (a slip in the first example of FLIP-492).",
    text="{clause} needs an equals sign before {found}.",
    remedy="Write {suggestion}.",
)
MISSING_COMMA = _statement(
    "MATERIALIZED_TABLE_MISSING_COMMA",
    "Two columns of a query follow each other (a slip in the examples of FLIP-435).",
    text="a comma is missing before {found}.",
    remedy="Write {suggestion}.",
)
MISSING_AS = _statement(
    "MATERIALIZED_TABLE_MISSING_AS",
    "A query begins without AS.",
    text="AS is missing before the query.",
    remedy="Write AS {found} …",
)
INTERVAL_FORM = _statement(
    "MATERIALIZED_TABLE_INTERVAL_FORM",
    "An interval is spelt in another of Spark's forms.",
    text="an interval is a number in quotes and a unit.",
    remedy="Write {suggestion}.",
)
MULTIPLE_STATEMENTS = _statement(
    "MATERIALIZED_TABLE_MULTIPLE_STATEMENTS",
    "Something follows the semicolon.",
    text="{found} begins a second statement.",
    remedy="Run the statements one by one; nothing of either was done.",
)
TEMPORARY = _statement(
    "MATERIALIZED_TABLE_TEMPORARY",
    "CREATE, ALTER or DROP TEMPORARY MATERIALIZED TABLE.",
    text="a materialized table cannot be temporary: its refresh continues after the session.",
    remedy="Leave {temporary} out{otherwise}.",
)
IF_NOT_EXISTS = _statement(
    "MATERIALIZED_TABLE_IF_NOT_EXISTS",
    "IF NOT EXISTS together with OR ALTER or OR REPLACE.",
    text="IF NOT EXISTS goes only with plain CREATE.",
    remedy=(
        "{form} already says what happens to an existing table: leave IF NOT EXISTS out. With "
        "plain CREATE … IF NOT EXISTS an existing table is left as it is, whatever its "
        "definition."
    ),
)
DISTRIBUTED = _statement(
    "MATERIALIZED_TABLE_DISTRIBUTED",
    "DISTRIBUTED BY, CLUSTERED BY … INTO BUCKETS.",
    text="{found}: materialized tables have no buckets.",
    remedy="Write CLUSTER BY (column, …), which lays out the files by these columns.",
)
PARTITIONED_AND_CLUSTERED = _statement(
    "MATERIALIZED_TABLE_PARTITIONED_AND_CLUSTERED",
    "PARTITIONED BY and CLUSTER BY in one statement.",
    text="a table is either partitioned or clustered, and {other} is given already.",
    remedy=(
        "Keep one: CLUSTER BY can be changed later, PARTITIONED BY allows the refresh of single "
        "partitions and cannot be changed without writing the table again."
    ),
)
UNSUPPORTED_CONSTRAINT = _statement(
    "MATERIALIZED_TABLE_UNSUPPORTED_CONSTRAINT",
    "UNIQUE, FOREIGN KEY and constraints of a single column.",
    text="{found} is no constraint of a materialized table.",
    remedy="{instead}",
)
ENFORCED_KEY = _statement(
    "MATERIALIZED_TABLE_ENFORCED_KEY",
    "A PRIMARY KEY without NOT ENFORCED.",
    text="a key is never enforced by the table; the only mode is NOT ENFORCED.",
    remedy=(
        "Write PRIMARY KEY (column, …) NOT ENFORCED. A refresh that would store a NULL or a "
        "duplicate in it fails and names the values."
    ),
)
UNSUPPORTED_COLUMN_OPTION = _statement(
    "MATERIALIZED_TABLE_UNSUPPORTED_COLUMN_OPTION",
    "AS, DEFAULT, GENERATED and the like after a column's name or type.",
    text="{found} does not go with a column whose values come from a query.",
    remedy="{instead}",
)
WATERMARK_CLAUSE = _statement(
    "MATERIALIZED_TABLE_WATERMARK_CLAUSE",
    "WATERMARK FOR column AS … in a column list.",
    text="a watermark is an option here and no item of the column list.",
    remedy="Leave it out, and write WITH ({option}) before FRESHNESS.",
)
MIXED_COLUMN_LIST = _statement(
    "MATERIALIZED_TABLE_MIXED_COLUMN_LIST",
    "Names alone and names with types in one column list.",
    text="a column list gives types for all of its columns or for none.",
    remedy=(
        "Names alone rename the query's columns by position; with types they are matched by "
        "name. Without a type: {bare}. With one: {typed}."
    ),
)
DUPLICATE_NAME = _statement(
    "MATERIALIZED_TABLE_DUPLICATE_NAME",
    "A name is repeated in a list.",
    text="{what} {names} given more than once.",
    remedy="Keep one of each.",
)
TABLE_HINT = _statement(
    "MATERIALIZED_TABLE_TABLE_HINT",
    "Flink's hint `/*+ OPTIONS(…) */` after a table in the query.",
    text="Spark has no hints after a table, such as Flink's OPTIONS(…).",
    remedy=(
        "Leave it out. {twin} sets from where the sources are read; write it before AS, in ALTER "
        "after SET."
    ),
)
UNSUPPORTED_ALTER = _statement(
    "MATERIALIZED_TABLE_UNSUPPORTED_ALTER",
    "ALTER … RENAME, SWAP, ADD COLUMN and other forms that tables have.",
    text="ALTER MATERIALIZED TABLE has no form {form}.",
    remedy="{suggestion}{instead} The forms are {forms}.",
)
UNSUPPORTED_EXPLAIN = _statement(
    "MATERIALIZED_TABLE_UNSUPPORTED_EXPLAIN",
    "EXPLAIN of a statement that changes no definition, or in one of Spark's modes.",
    text="EXPLAIN does not take {what}.",
    remedy=(
        "It shows what CREATE …, ADOPT … and ALTER … AS query would do, without doing it, and has "
        "no modes."
    ),
)

PRIMARY_KEY_COLUMN = _invalid(
    "MATERIALIZED_TABLE_PRIMARY_KEY_COLUMN",
    "A key names a column that the table does not have.",
    text=(
        "Primary key column '{column}' of materialized table {table} is not in the query's "
        "schema. Available columns: [{columns}]."
    ),
    remedy="Name columns that the query produces, each once.{hint}",
)
PARTITION_COLUMN = _invalid(
    "MATERIALIZED_TABLE_PARTITION_COLUMN",
    "The table is partitioned by a column that it does not have (message of Flink).",
    text=(
        "Materialized table {table}: Partition column '{column}' not defined in the query's "
        "schema. Available columns: [{columns}]."
    ),
    remedy="Name columns that the query produces, each once.{hint}",
)
CLUSTER_COLUMN = _invalid(
    "MATERIALIZED_TABLE_CLUSTER_COLUMN",
    "The table is clustered by a column that it does not have.",
    text=(
        "Materialized table {table}: Clustering column '{column}' not defined in the query's "
        "schema. Available columns: [{columns}]."
    ),
    remedy="Name columns that the query produces, each once.{hint}",
)
FORMAT_FEATURE = _invalid(
    "MATERIALIZED_TABLE_FORMAT_FEATURE",
    "A definition has a feature that the format of the table lacks.",
    text="Materialized table {table}: tables of {format} cannot have {feature}.",
    remedy="Leave it out, and run the statement again.{alternative} Nothing was changed.",
)
FORMAT_WITHOUT_TABLES = _invalid(
    "MATERIALIZED_TABLE_FORMAT_WITHOUT_TABLES",
    "A materialized table has a format whose tables are only read.",
    text="Table {table} has the format {format}, whose tables are only read as sources.",
    remedy=(
        "Create the materialized table under a name of a catalog that has another format. "
        "Nothing was changed."
    ),
)
REPEATED_COLUMN = _invalid(
    "MATERIALIZED_TABLE_REPEATED_COLUMN",
    "A key, partitioning or clustering names a column twice.",
    text="{clause} of materialized table {table} names column '{column}' twice.",
    remedy="Name each column once.",
)
ONLY_PARTITION_COLUMNS = _invalid(
    "MATERIALIZED_TABLE_ONLY_PARTITION_COLUMNS",
    "Every column is a partition column.",
    text="All columns of materialized table {table} are partition columns: [{columns}].",
    remedy="Leave at least one column out of PARTITIONED BY.",
)
READS_ITSELF = _invalid(
    "MATERIALIZED_TABLE_READS_ITSELF",
    "A query reads its own table, directly or through others.",
    text="The query of materialized table {table} reads its own table: {path}.",
    remedy=(
        "Remove one of these reads. To add to rows that are there already, use an incremental "
        "model: a materialized table holds what its query returns, and nothing else."
    ),
)
DUPLICATE_COLUMN = _invalid(
    "MATERIALIZED_TABLE_DUPLICATE_COLUMN",
    "Two columns of the table would have the same name.",
    text="Materialized table {table} would have {count} columns named `{column}`.",
    remedy="Give each column its own alias in the query, or list the names after the table's.",
)
COLUMN_LIST_LENGTH = _invalid(
    "MATERIALIZED_TABLE_COLUMN_LIST_LENGTH",
    "A list of bare names has another length than the query's result.",
    text=(
        "The column list of materialized table {table} has {listed} names, but its query has "
        "{actual} columns: [{columns}]."
    ),
    remedy="List one name for each column of the query, in its order.",
)
COLUMN_NOT_IN_QUERY = _invalid(
    "MATERIALIZED_TABLE_COLUMN_NOT_IN_QUERY",
    "A typed list names a column that the query does not produce.",
    text=(
        "Column '{column}' of the column list of materialized table {table} is not in the "
        "query's schema. Available columns: [{columns}]."
    ),
    remedy="A typed list names the query's columns: add an alias to the query, or correct it.",
)
COLUMN_NOT_LISTED = _invalid(
    "MATERIALIZED_TABLE_COLUMN_NOT_LISTED",
    "The query produces a column that its typed list leaves out.",
    text=(
        "Column '{column}' of the query is missing in the column list of materialized table "
        "{table}."
    ),
    remedy="List every column of the query with its type, or remove the column from the query.",
)
COLUMN_TYPE = _invalid(
    "MATERIALIZED_TABLE_COLUMN_TYPE",
    "A listed type does not hold what the query produces.",
    text=(
        "Column '{column}' of materialized table {table} is listed as {listed}, but the query "
        "produces {actual}, which Spark cannot cast to it without loss."
    ),
    remedy="{instead}.",
)
UNKNOWN_TYPE = _invalid(
    "MATERIALIZED_TABLE_UNKNOWN_TYPE",
    "A listed type is none of Spark's.",
    text="Column '{column}' of materialized table {table}: '{type}' is not a data type.",
    remedy="Write the type as Spark's DDL does, such as DECIMAL(10,2) or STRUCT<a: INT>.",
)
TYPE_NOT_STORED = _invalid(
    "MATERIALIZED_TABLE_TYPE_NOT_STORED",
    "A column has a type that no table can store.",
    text=(
        "Column '{column}' of materialized table {table} has the type {type}, and no table can "
        "store {part}."
    ),
    remedy="{instead} Nothing was changed.",
)
INVALID_DURATION = _value(
    "MATERIALIZED_TABLE_INVALID_DURATION",
    "A text is no duration.",
    text="'{value}' is not a duration.",
    remedy=(
        "Write it as `30 min`, `1 hour`, `30m`, `PT30M` or `INTERVAL '30' MINUTE`; the units are "
        "milliseconds, seconds, minutes, hours, days and weeks."
    ),
)
DURATION_TOO_LONG = _value(
    "MATERIALIZED_TABLE_DURATION_TOO_LONG",
    "A duration is longer than its place allows.",
    text="'{value}' is longer than the longest duration, {longest}.",
    remedy="Write a shorter duration; 2147483647 seconds are 68 years.",
)
INVALID_TIME_ZONE = _value(
    "MATERIALIZED_TABLE_INVALID_TIME_ZONE",
    "No time zone has this name.",
    text="'{zone}' is not a time zone.",
    remedy="Use a region such as Europe/Berlin, an offset such as +02:00, or UTC.",
)
INVALID_TIMESTAMP = _value(
    "MATERIALIZED_TABLE_INVALID_TIMESTAMP",
    "A text is no timestamp literal.",
    text="'{value}' is not a timestamp.",
    remedy="Write it as TIMESTAMP '2025-10-28 12:00:00', with a time zone after it if needed.",
)
INVALID_DATE_FORMATTER = _value(
    "MATERIALIZED_TABLE_INVALID_DATE_FORMATTER",
    "A date formatter is no pattern that can name a partition.",
    text="The pattern '{pattern}' {problem}.",
    remedy=(
        "The supported letters are y (y, yy, yyyy), M, d, H, m and s (once or twice); any other "
        "text is in single quotes, and '' is one quote. For example yyyy-MM-dd."
    ),
)
START_IN_THE_FUTURE = _definition(
    "MATERIALIZED_TABLE_START_IN_THE_FUTURE",
    "A start is later than the execution of the statement.",
    text="{startMode} of materialized table {table} lies in the future; it is {now} now.",
    remedy="Choose an instant in the past, or FROM_NOW; nothing was changed.",
)
START_BEFORE_TIME = _definition(
    "MATERIALIZED_TABLE_START_BEFORE_TIME",
    "An interval reaches back beyond the first year that a timestamp can hold.",
    text="{startMode} of materialized table {table} reaches back before the year 1.",
    remedy="Choose a shorter interval, or FROM_BEGINNING; nothing was changed.",
)
UNKNOWN_ENRICHER = Condition(
    error_classes.UnknownEnricherError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_UNKNOWN_ENRICHER",
    "No enricher can be loaded under the configured name.",
    text="The enricher '{enricher}' cannot be loaded: {problem}.",
    remedy=(
        "Set spark.materialized-table.enricher to `default`, `upstream-freshness`, the name of "
        "an entry point in the group dbt_spark_mt.enrichers, or `module:Class`."
    ),
)
ENRICHER_FAILED = _definition(
    "MATERIALIZED_TABLE_ENRICHER_FAILED",
    "An enricher returned no usable result.",
    text="The enricher '{enricher}' failed for materialized table {table}: {problem}.",
    remedy=(
        "Correct the enricher, or set spark.materialized-table.enricher back to `default`; "
        "nothing was changed."
    ),
)
INVALID_FRESHNESS = Condition(
    error_classes.InvalidFreshnessError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_INVALID_FRESHNESS",
    "The freshness is not a positive whole number (message of FLIP-435).",
    text=(
        "The freshness interval currently only supports positive integer type values. But was: "
        "{value}"
    ),
    remedy=(
        "Write it as INTERVAL '3' MINUTE in a statement, or as `3 minutes` in a config; the "
        "number is at most 2147483647."
    ),
)
FRESHNESS_TOO_LONG = Condition(
    error_classes.FreshnessTooLongError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_FRESHNESS_TOO_LONG",
    "The freshness is longer than the longest one.",
    text="A freshness is at most {longest} long, which is 68 years. But was: {value}",
    remedy="Write a shorter interval, such as INTERVAL '52' WEEK.",
)
INVALID_FRESHNESS_UNIT = Condition(
    error_classes.InvalidFreshnessError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_INVALID_FRESHNESS_UNIT",
    "The freshness has a unit that no schedule has (message of FLIP-435).",
    text=(
        "Materialized table freshness only supports SECOND, MINUTE, HOUR, DAY, WEEK as the time "
        "unit. But was: {unit}"
    ),
    remedy=(
        "Write it as INTERVAL '3' MINUTE in a statement, or as `3 minutes` in a config; the "
        "number is at most 2147483647."
    ),
)
INVALID_VALUE = _value(
    "MATERIALIZED_TABLE_INVALID_VALUE",
    (
        "A config, setting or clause holds a value that is never valid, whatever the table.\n\n"
        "It is one violation among others in the error of the config, settings or statement."
    ),
    text="{detail}",
)
INVALID_DEFINITION = _invalid(
    "MATERIALIZED_TABLE_INVALID_DEFINITION",
    (
        "A definition has several violations; nothing was done.\n\n"
        "Each violation is an error of its own. `errors` holds them, `conditions` names them."
    ),
    text="The definition of materialized table {table} is not valid, nothing was changed:",
)
UNSUPPORTED_CHANGE = Condition(
    error_classes.InvalidDefinitionError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_UNSUPPORTED_CHANGE",
    (
        "A definition cannot be changed in place, for several reasons; nothing was done.\n\n"
        "Each reason is an error of its own; `errors` holds them, `conditions` names them."
    ),
    text="Materialized table {table} cannot be changed in place, nothing was changed:",
    remedy=("Correct the statement, or " + _REPLACE + "."),
    cost=RemedyCost.TABLE,
)
INVALID_OPTION = _invalid(
    "MATERIALIZED_TABLE_INVALID_OPTION",
    "An option's value cannot be used.",
    text="Option '{option}' of materialized table {table} is not valid: {problem}",
    remedy="docs/configuration.md lists the options with their values.",
)
MISSPELT_OPTION = _invalid(
    "MATERIALIZED_TABLE_MISSPELT_OPTION",
    "An option is similar to a known one, and would be stored without any effect.",
    text="'{option}' is no option of materialized table {table}. Did you mean '{suggestion}'?",
    remedy=(
        "Write it so, or give it a name that is less like it: options with other names are "
        "stored as they are, without any effect."
    ),
)
RESERVED_OPTION = _invalid(
    "MATERIALIZED_TABLE_RESERVED_OPTION",
    "An option has a name under which the adapter stores its own properties.",
    text="Option '{option}' of materialized table {table} has a reserved name.",
    remedy="Names that begin with 'materialized-table' belong to dbt-spark-mt: rename it.",
)
OPTION_NOT_A_PARTITION_COLUMN = _invalid(
    "MATERIALIZED_TABLE_OPTION_NOT_A_PARTITION_COLUMN",
    "A date formatter names a column that does not partition the table (message of Flink).",
    text=(
        "Materialized table {table}: Column '{column}' referenced by materialized table option "
        "'{option}' isn't a partition column. Available partition columns: ['{available}']."
    ),
    remedy="Name a column of PARTITIONED BY, or remove the option.",
)
OPTION_NOT_A_TEXT_COLUMN = _invalid(
    "MATERIALIZED_TABLE_OPTION_NOT_A_TEXT_COLUMN",
    "A date formatter names a column that holds no text (message of Flink).",
    text=(
        "Materialized table {table}: Materialized table option '{option}' only supports "
        "referring to char, varchar and string type partition column. Column `{column}` type is "
        "{type}."
    ),
    remedy="Format the column in the query (date_format(…) AS {column}), or remove the option.",
)
INVALID_RUN_OPTIONS = _definition(
    "MATERIALIZED_TABLE_INVALID_RUN_OPTIONS",
    "RESUME WITH or ALTER … WITH has options that are no run options.",
    text="The options after WITH cannot be used for the refresh of {table}, nothing was changed:",
    remedy=(
        "Run options are continuous.trigger-interval, maxFilesPerTrigger, maxBytesPerTrigger, "
        "maxOffsetsPerTrigger and SQL confs of Spark (spark.sql.*) that do not change what a "
        "query means. Options of the table itself are changed by ALTER MATERIALIZED TABLE "
        "{table} SET ('key' = 'value'), at the cost of one small commit."
    ),
    cost=RemedyCost.COMMIT,
)
INVALID_SETTINGS = _definition(
    "MATERIALIZED_TABLE_INVALID_SETTINGS",
    "Settings of the session cannot be used; every one of them is named.",
    text="The session's settings for materialized tables are not valid:",
    remedy=(
        "Correct them in spark-defaults.conf, in the profile's server_side_parameters or by SET; "
        "docs/configuration.md lists all of them."
    ),
)
INVALID_SETTING = _value(
    "MATERIALIZED_TABLE_INVALID_SETTING",
    "A setting's value is readable, and out of range; one violation of invalid settings.",
    text="{detail}",
)
INVALID_START_MODE = _value(
    "MATERIALIZED_TABLE_INVALID_START_MODE",
    "The start mode's keyword and argument do not fit together.",
    text="START_MODE = {startMode} {problem}.",
    remedy=(
        "The forms are FROM_BEGINNING, FROM_NOW[(INTERVAL 'n' unit)], FROM_TIMESTAMP(TIMESTAMP "
        "'...'), and each of them after RESUME_OR_."
    ),
)
INVALID_STATE_RETENTION = _value(
    "MATERIALIZED_TABLE_INVALID_STATE_RETENTION",
    "The state retention's keyword and operators do not fit together.",
    text="STATE_RETENTION = {stateRetention} names no operators; only PTF_ONLY does.",
    remedy="Leave the operators out, or write PTF_ONLY('operator', …).",
)
INVALID_TYPE = Condition(
    error_classes.InvalidTypeError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_INVALID_TYPE",
    "A text is no data type.",
    text="'{type}' is not a data type.",
    remedy="Write it as Spark's DDL does, such as DECIMAL(10,2) or STRUCT<a: INT>.",
)
INVALID_WATERMARK = _value(
    "MATERIALIZED_TABLE_INVALID_WATERMARK",
    "A text is no watermark.",
    text="'{value}' is not a watermark.",
    remedy=(
        "Write it as ts DELAY OF INTERVAL '10' SECOND, with the source before it where several "
        "have such a column: s.orders: ts DELAY OF INTERVAL '10' SECOND; several are separated "
        "by a semicolon."
    ),
)
WATERMARK_DELAY = _value(
    "MATERIALIZED_TABLE_WATERMARK_DELAY",
    "The delay of a watermark is not positive.",
    text="The delay of the watermark on {column} must be longer than nothing, but is {delay}.",
    remedy="Give the longest time by which a row may come late, such as INTERVAL '10' SECOND.",
)
WATERMARK_IN_STREAM_QUERY = _invalid(
    "MATERIALIZED_TABLE_WATERMARK_IN_STREAM_QUERY",
    "A query with STREAM has its watermarks in its own text.",
    text=(
        "Materialized table {table} has the option 'watermark', and its query reads a STREAM, "
        "which has its watermarks in the query."
    ),
    remedy=(
        "Write STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS in the query and remove the "
        "option, or read the table without STREAM."
    ),
)
WATERMARK_SOURCE = _invalid(
    "MATERIALIZED_TABLE_WATERMARK_SOURCE",
    "A watermark names a source that the query does not follow.",
    text=(
        "Option 'watermark' of materialized table {table} names {source}, which is no source "
        "that the query follows. Followed sources: {available}."
    ),
    remedy="Name one of them, or leave the name out where only one has the column.",
)
WATERMARK_COLUMN = _invalid(
    "MATERIALIZED_TABLE_WATERMARK_COLUMN",
    "A watermark names a column that its source does not have, or that holds no time.",
    text="Option 'watermark' of materialized table {table}: {problem}.",
    remedy=(
        "Name a column of type TIMESTAMP or TIMESTAMP_NTZ of the source itself, not of the "
        "query's result or of a view."
    ),
)
REPEATED_WATERMARK = _invalid(
    "MATERIALIZED_TABLE_REPEATED_WATERMARK",
    "A source has two watermarks.",
    text="Option 'watermark' of materialized table {table} gives {source} two watermarks.",
    remedy="Give each source one watermark; put the source's name before each.",
)
PROCESS_FUNCTION = Condition(
    error_classes.ProcessFunctionError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_PROCESS_FUNCTION",
    "A process function that a table names cannot be used for it.",
    text="The process function '{function}' cannot make the rows of {table}: {problem}.",
    remedy=(
        "Register it as spark.materialized-table.process-functions = "
        "'<name>=<module>:<function>' wherever the table is defined or refreshed; "
        "docs/refresh.md describes what it must return and which queries can feed it."
    ),
)
LOOKUP_TIME_NOT_SUPPORTED = _definition(
    "MATERIALIZED_TABLE_LOOKUP_TIME_NOT_SUPPORTED",
    "A lookup join as of anything but the processing time.",
    text=(
        "The query joins {relation} FOR SYSTEM_TIME AS OF {expression} (line {line}), but a "
        "lookup join reads a table as it is when a row is processed."
    ),
    remedy=(
        "Write FOR SYSTEM_TIME AS OF proctime() for a lookup join, or {relation} VERSION AS OF "
        "<number> to read one fixed version of the table."
    ),
)
QUERY_ERROR = Condition(
    error_classes.QueryError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_QUERY_ERROR",
    "The engine refuses the query. Line and column count from 1 within the query.",
    text="The query is refused by Spark{place}: [{engine_condition}] {message}",
    remedy="Correct the query; nothing was changed.",
)
TEMPORARY_OBJECT = Condition(
    error_classes.TemporaryObjectError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_TEMPORARY_OBJECT",
    "The query uses an object that only the session of the statement has.",
    text=(
        "The query uses {objects}. Only this session knows that, but refreshes run in other "
        "sessions."
    ),
    remedy=(
        "Use a CTE, or create a persistent view or function; write the value of a session "
        "variable into the query. Nothing was changed."
    ),
)
SOURCE_COLUMNS_CHANGED = Condition(
    error_classes.QueryError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_SOURCE_COLUMNS_CHANGED",
    (
        "The query cannot be computed over the columns that its sources have now.\n\n"
        "Violations name each column that the sources had when the query was defined and no longer "
        "have."
    ),
    text="The columns of the query's sources changed since it was defined: {message}.",
    remedy=(
        "The table keeps the rows it has. Give the sources their columns back, or change the "
        "query with CREATE OR ALTER MATERIALIZED TABLE, which computes all rows again."
    ),
    cost=RemedyCost.TABLE,
)
UNREADABLE_COMMIT = _definition(
    "MATERIALIZED_TABLE_UNREADABLE_COMMIT",
    "What a commit of ours says about itself cannot be read, and nothing newer replaces it.",
    text=(
        "The metadata of commit {version} of the materialized table {table} cannot be read: "
        "{problem}. Nothing was changed."
    ),
    remedy=(
        "Upgrade dbt-spark-mt if a newer release wrote it. Otherwise CREATE OR REPLACE "
        "MATERIALIZED TABLE stores a new definition and computes the whole table again."
    ),
    cost=RemedyCost.TABLE,
)
UNREADABLE_DEFINITION = Condition(
    error_classes.UnreadableDefinitionError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_UNREADABLE_DEFINITION",
    "The text in the place of the definition cannot be read.",
    text="The stored definition of the materialized table {table} cannot be read: {problem}.",
    remedy=(
        "Upgrade dbt-spark-mt if a newer release wrote it. Otherwise CREATE OR REPLACE "
        "MATERIALIZED TABLE stores a new definition and computes the whole table again."
    ),
    cost=RemedyCost.TABLE,
)
UNSUPPORTED_PYTHON = _definition(
    "MATERIALIZED_TABLE_UNSUPPORTED_PYTHON",
    "The interpreter has a version that no test runs with.",
    text="This is Python {python}, and dbt-spark-mt is tested with {supported}.",
    remedy=(
        "Make a new environment with one of these (python{newest} -m venv .venv) and install "
        "dbt-spark-mt there. To try this one all the same, set the environment variable "
        "{variable}=true. Nothing was started."
    ),
)
UNSUPPORTED_SPARK = Condition(
    error_classes.MaterializedTableError,
    Group.SPARK,
    "MATERIALIZED_TABLE_UNSUPPORTED_SPARK",
    "No release of a table format is tested with a Spark.",
    text="This is Spark {spark}, and dbt-spark-mt is tested with {supported}.",
    remedy=(
        "Install one of these (pip install 'pyspark~={newest}.0'), or connect to one. To try "
        "this one all the same, name {attempt} under `server_side_parameters` of the profile and "
        "set the environment variable {variable}=true. Nothing was changed."
    ),
)
UNSUPPORTED_DBT = Condition(
    error_classes.UnsupportedDbtError,
    Group.DEFINITION,
    "MATERIALIZED_TABLE_UNSUPPORTED_DBT",
    "The installed dbt-core has a version that no test runs with.",
    text="dbt-core {dbt} is installed, and dbt-spark-mt is tested with {supported}.",
    remedy=(
        "Install one of these (pip install 'dbt-core~={newest}.0'). To try this one all the "
        "same, set the environment variable {variable}=true. Nothing was started."
    ),
)
UNSUPPORTED_JAVA = _definition(
    "MATERIALIZED_TABLE_UNSUPPORTED_JAVA",
    "The Java that Spark would run in has a version that no test runs with.",
    text=(
        "Spark {spark} would run in Java {java}, of {home}, and it needs Java {oldest} to {newest}."
    ),
    remedy=(
        "Install Java {oldest} (Debian, Ubuntu: apt install openjdk-{oldest}-jre-headless; "
        "macOS: brew install openjdk@{oldest}) and set JAVA_HOME to it. To try this one all the "
        "same, set the environment variable {variable}=true. Nothing was started."
    ),
)
NONDETERMINISTIC_QUERY = _invalid(
    "MATERIALIZED_TABLE_NONDETERMINISTIC_QUERY",
    "A query whose result differs from run to run cannot be refreshed continuously.",
    text=(
        "The query of materialized table {table} uses {functions}, whose value differs from run "
        "to run, so it cannot be refreshed in mode CONTINUOUS."
    ),
    remedy=(
        "Set REFRESH_MODE = FULL, which computes the whole table at each refresh, or remove the "
        "function."
    ),
    cost=RemedyCost.TABLE,
)
STREAM_IN_FULL_MODE = _invalid(
    "MATERIALIZED_TABLE_STREAM_IN_FULL_MODE",
    "A query over a STREAM cannot be computed as a whole.",
    text=(
        "The query of materialized table {table} reads a STREAM, which only mode CONTINUOUS can, "
        "but its refresh mode is FULL ({reason})."
    ),
    remedy=(
        "Set REFRESH_MODE = CONTINUOUS, or read the table without STREAM; the model config "
        "`watermark` bounds state while the query stays plain SQL."
    ),
)
STREAM_QUERY = _invalid(
    "MATERIALIZED_TABLE_STREAM_QUERY",
    "A query over a STREAM that Structured Streaming cannot run, or not so that rows are right.",
    text=(
        "The query of materialized table {table} reads a STREAM, and it cannot be run as a "
        "stream ({code}): {problem}."
    ),
    remedy=(
        "Read the table without STREAM: each refresh then computes what it must, at the cost of "
        "reading more. docs/refresh.md lists the queries that can be streams."
    ),
    cost=RemedyCost.TABLE,
)
UNSUPPORTED_START_MODE = _invalid(
    "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE",
    "A new table cannot start there, because of its query or its sources.",
    text="START_MODE = {startMode} of materialized table {table} is not possible: {problem}.",
    remedy=(
        "Use START_MODE = FROM_BEGINNING, which computes the whole table from all source data, "
        "or REFRESH_MODE = FULL, where the start mode has no effect."
    ),
    cost=RemedyCost.TABLE,
)
NOT_INCREMENTAL = _invalid(
    "MATERIALIZED_TABLE_NOT_INCREMENTAL",
    "Every refresh would compute all rows, and the option `incremental` is `strict`.",
    text=(
        "Every refresh of the materialized table {table} would compute all rows, which its "
        "option 'incremental' = 'strict' forbids:"
    ),
    remedy=(
        "Rewrite the query as said, or set 'incremental' = 'auto': each refresh then costs what "
        "the whole query costs."
    ),
    cost=RemedyCost.TABLE,
)

ADD_WITHOUT_KEY = _change(
    "MATERIALIZED_TABLE_ADD_WITHOUT_KEY",
    "Rows of two queries can only be brought together by a key.",
    text="{table} has no PRIMARY KEY, by which the rows of an added query would find its rows.",
    remedy=(
        "Declare the key with CREATE OR ALTER MATERIALIZED TABLE {table} (PRIMARY KEY (…) NOT "
        "ENFORCED) …, which checks the rows that are there; or: " + _ALTERNATIVE
    ),
    cost=RemedyCost.TABLE,
)
ADDED_KEY_MISSING = _change(
    "MATERIALIZED_TABLE_ADDED_KEY_MISSING",
    "The added query does not produce the key.",
    text=(
        "The query that shall be added to {table} does not produce the column '{column}' of its "
        "primary key. Available columns: [{columns}]."
    ),
    remedy=("Select the key under the names that it has in the table. " + _ALTERNATIVE),
    cost=RemedyCost.TABLE,
)
ADDED_COLUMN_EXISTS = _change(
    "MATERIALIZED_TABLE_ADDED_COLUMN_EXISTS",
    "The added query has a column of the table's, outside of the key.",
    text="The query that shall be added to {table} produces '{column}', which the table has.",
    remedy=("Give the column another name, or leave it out. " + _ALTERNATIVE),
    cost=RemedyCost.TABLE,
)
NOTHING_ADDED = _change(
    "MATERIALIZED_TABLE_NOTHING_ADDED",
    "The added query has no column but the key.",
    text="The query that shall be added to {table} has no column but those of the primary key.",
    remedy=("Select at least one more column. " + _ALTERNATIVE),
    cost=RemedyCost.TABLE,
)
DROPPED_COLUMN = _unsupported(
    "MATERIALIZED_TABLE_DROPPED_COLUMN",
    "The new query has fewer columns (message of FLIP-546).",
    text=(
        "Materialized table {table}: Failed to modify query because drop column is unsupported. "
        "When modifying a query, you can only append new columns at the end of original schema. "
        "The original schema has {oldCount} columns, but the newly derived schema from the query "
        "has {newCount} columns."
    ),
    remedy=("Keep the columns {dropped}, or " + _REPLACE + "."),
    cost=RemedyCost.TABLE,
)
COLUMN_MISMATCH = _unsupported(
    "MATERIALIZED_TABLE_COLUMN_MISMATCH",
    "The new query renames, moves or retypes columns (messages of FLIP-546).",
    text=(
        "Materialized table {table}: When modifying the query of a materialized table, currently "
        "only support appending columns at the end of original schema, dropping, renaming, and "
        "reordering columns are not supported. {mismatch}"
    ),
    remedy=(
        "Keep name, place and type of the columns that the table has and add new ones after "
        "them, or " + _REPLACE + "."
    ),
    cost=RemedyCost.TABLE,
)
COLUMN_WIDENING = _unsupported(
    "MATERIALIZED_TABLE_COLUMN_WIDENING",
    "The new query only widens types, which an option allows.",
    text=(
        "Materialized table {table}: When modifying the query of a materialized table, currently "
        "only support appending columns at the end of original schema, dropping, renaming, and "
        "reordering columns are not supported. {mismatch}"
    ),
    remedy=(
        "Every new type holds all values of the old one: set the option 'schema.type-widening' = "
        "'true' to widen the columns in place; the table is filled again. Without it, keep the "
        "types, or " + _REPLACE + "."
    ),
    cost=RemedyCost.TABLE,
)
APPENDED_NOT_NULL = _unsupported(
    "MATERIALIZED_TABLE_APPENDED_NOT_NULL",
    "A new column is NOT NULL, while the rows that exist have no value for it.",
    text="Materialized table {table}: the appended column {column} cannot be NOT NULL.",
    remedy=("List it without NOT NULL, or " + _REPLACE + "."),
    cost=RemedyCost.TABLE,
)
PARTITIONING_CHANGE = _unsupported(
    "MATERIALIZED_TABLE_PARTITIONING_CHANGE",
    "A table keeps its partition columns for life.",
    text=(
        "Materialized table {table}: partitioning cannot be changed. The table is partitioned by "
        "({old}), the statement asks for ({new})."
    ),
    remedy=(
        "Keep PARTITIONED BY, use CLUSTER BY from the start where it may change, or "
        + _REPLACE
        + "."
    ),
    cost=RemedyCost.TABLE,
)
BASELINE_NOT_FOLLOWED = _unsupported(
    "MATERIALIZED_TABLE_BASELINE_NOT_FOLLOWED",
    "A table that keeps rows could not follow its sources under the wanted definition.",
    text=(
        "Materialized table {table} keeps rows that its query does not account for ({baseline}), "
        "and could not follow its sources after this change: {problem}."
    ),
    remedy=(
        "Keep what the change takes away, or add START_MODE = FROM_BEGINNING to the statement, "
        "which computes all rows from all source data in the place of those that are there."
    ),
    cost=RemedyCost.TABLE,
)
CANNOT_ADOPT = _change(
    "MATERIALIZED_TABLE_CANNOT_ADOPT",
    "A table differs from what its new definition needs, in ways that adopting cannot change.",
    text="{table} cannot become a materialized table as it is; nothing was changed:",
    remedy=(
        "Make the query, its column list and PARTITIONED BY yield the columns and partitions "
        "that the table has, new columns after them; then adopting costs one commit. Or replace "
        "the table (in dbt: --full-refresh), which computes all rows from the sources that exist "
        "today and loses those that no source has any more."
    ),
    cost=RemedyCost.TABLE,
)
ROWS_DIFFER = _change(
    "MATERIALIZED_TABLE_ROWS_DIFFER",
    "The rows of a plain table are not those of the query with which it would be adopted.",
    text="{table} is a plain table, and its rows are not those of the query; nothing was changed:",
    remedy=(
        "If the table only lacks changes of its sources, refresh it as before, and run this "
        "again: in dbt, run the model once more with its old materialization. In dbt, `adopt: "
        "true` keeps the rows as they are, for one commit; --full-refresh replaces the table by "
        "one whose rows are all computed from the sources that exist today."
    ),
    cost=RemedyCost.TABLE,
)
CONTRADICTORY_STATE_RETENTION = _unsupported(
    "MATERIALIZED_TABLE_CONTRADICTORY_STATE_RETENTION",
    "The start mode reads source data again from which the kept state was made (FLIP-557).",
    text=(
        "Materialized table {table}: START_MODE = {startMode} reads source data again or leaves "
        "some out, while STATE_RETENTION = {stateRetention} continues with the state of the old "
        "query, and the query changed."
    ),
    remedy=(
        "Use START_MODE = RESUME_OR_{startMode}, which continues from the positions of the rows, "
        "or STATE_RETENTION = NONE, which builds rows and state again."
    ),
    cost=RemedyCost.TABLE,
)
STATE_NOT_RETAINED = _unsupported(
    "MATERIALIZED_TABLE_STATE_NOT_RETAINED",
    "The state of a stream does not fit the changed query (FLIP-557).",
    text=(
        "STATE_RETENTION = {stateRetention} cannot hold for the changed query of materialized "
        "table {table}; nothing was stopped or changed:"
    ),
    remedy=(
        "Leave operators that keep state as they are and change the others; or use START_MODE = "
        "FROM_BEGINNING with STATE_RETENTION = NONE, which builds rows and state again at the "
        "cost of reading all source data."
    ),
    cost=RemedyCost.TABLE,
)

SYSTEM_TABLE_GONE = _execution(
    "MATERIALIZED_TABLE_SYSTEM_TABLE_GONE",
    "A system table of a manager is not there any more.",
    text=(
        "The system table {table} is gone: another session dropped it, or the warehouse was "
        "deleted or moved."
    ),
    remedy=(
        "Restore the warehouse and start the manager again; it makes its tables where they are "
        "missing, and `spark-mt repair` writes the registry again from the tables that are there."
    ),
)
UNEXPECTED_ERROR = _execution(
    "MATERIALIZED_TABLE_UNEXPECTED_ERROR",
    "A statement ended with an error that no part of it expects; the cause is attached.",
    text="An error that was not expected ended the statement: {problem}",
    remedy=(
        "Every table is as its last commit left it, because a commit is made whole or not at "
        "all. If Spark, the storage or the network failed, correct that and run the statement "
        "again: it costs what it would have cost. Otherwise report it to the project with this "
        "text and the stack of its cause, which --debug prints (dbt --debug, spark-mt --debug)."
    ),
)
OTHER_STATEMENT = _execution(
    "MATERIALIZED_TABLE_OTHER_STATEMENT",
    "A method of the API takes CREATE MATERIALIZED TABLE, and got another statement.",
    text="Expected {expected} MATERIALIZED TABLE, but got: {statement}",
    remedy="Pass the expected statement, or carry this one out with `execute`; nothing was done.",
)
NOT_FOUND = Condition(
    error_classes.TableNotFoundError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_NOT_FOUND",
    "There is no such table.",
    text="The materialized table {table} does not exist.",
    remedy="SHOW MATERIALIZED TABLES lists those of a schema; CREATE MATERIALIZED TABLE makes one.",
)
EXPECTED = Condition(
    error_classes.NotMaterializedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_EXPECTED",
    "Something else has this name.",
    text="{table} is {what}, not a materialized table; nothing was changed.",
    remedy=(
        "Choose another name, or drop it first; dropping a table removes its rows for "
        "good. ADOPT MATERIALIZED TABLE (in dbt, `adopt: true`) takes a plain table that has "
        "versions and the same columns over with its rows, files and history, for one commit. In "
        "dbt, --full-refresh replaces it by a table whose rows are all computed from the sources "
        "that exist today."
    ),
    cost=RemedyCost.TABLE,
)
INVALID_NAME = _execution(
    "MATERIALIZED_TABLE_INVALID_NAME",
    "No table can be created under the name.",
    text="{table} cannot be created: {problem}.",
    remedy="Choose another name, or CREATE SCHEMA first; nothing was changed.",
)
ALREADY_EXISTS = _execution(
    "MATERIALIZED_TABLE_ALREADY_EXISTS",
    "A plain CREATE finds the name taken by a materialized table.",
    text="The materialized table {table} already exists.",
    remedy=(
        "CREATE OR ALTER MATERIALIZED TABLE compares it with the statement and changes what "
        "differs, which fills it again only where its content changes; CREATE MATERIALIZED TABLE "
        "IF NOT EXISTS leaves it as it is."
    ),
    cost=RemedyCost.TABLE,
)
LOCATION_TAKEN = _execution(
    "MATERIALIZED_TABLE_LOCATION_TAKEN",
    "The directory that the user names has files that are not of this table.",
    text=(
        "The location {location} of the materialized table {table} holds files that are not of "
        "this table; nothing was changed."
    ),
    remedy="Choose another location, or remove the directory first, which loses what is in it.",
    cost=RemedyCost.TABLE,
)
CHANGED_OUTSIDE = _execution(
    "MATERIALIZED_TABLE_CHANGED_OUTSIDE",
    "The table was changed by other means, and its definition no longer fits it.",
    text=(
        "The materialized table {table} was changed by other means: {problem}. Nothing was changed."
    ),
    remedy=(
        "RESTORE TABLE to the version before brings it back as it was. CREATE OR REPLACE "
        "MATERIALIZED TABLE (in dbt --full-refresh) creates it again, which computes the whole "
        "table."
    ),
    cost=RemedyCost.TABLE,
)
SOURCE_NOT_FOUND = Condition(
    error_classes.SourceNotFoundError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_SOURCE_NOT_FOUND",
    "A source was there when the query was analysed and is gone now.",
    text="The source {source} no longer exists or cannot be read: {problem}",
    remedy="The table keeps the rows it has. Bring the source back and run the statement again.",
)
QUERY_SCHEMA_NOT_FOUND = Condition(
    error_classes.SourceNotFoundError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_QUERY_SCHEMA_NOT_FOUND",
    "The schema that was the current one when the query was written is gone.",
    text=(
        "The schema {schema} no longer exists. It was the current one when the query was written, "
        "so the names in the query without a schema mean its tables and functions."
    ),
    remedy=(
        "The table keeps the rows it has. Create the schema again, it may be empty, and run the "
        "statement again. Or run CREATE OR REPLACE MATERIALIZED TABLE (in dbt --full-refresh) "
        "while another schema is the current one, which computes the whole table."
    ),
    cost=RemedyCost.TABLE,
)
FRESHNESS_WITHOUT_COMMITS = _execution(
    "MATERIALIZED_TABLE_FRESHNESS_WITHOUT_COMMITS",
    "No commits show when the rows of a relation changed.",
    text="No commits show when {table} was loaded: {problem}.",
    remedy=(
        "Set `loaded_at_field` or `loaded_at_query` on the source in dbt; it then reads the "
        "rows, which costs a query of them at each check."
    ),
)
SOURCES_TOO_BUSY = _execution(
    "MATERIALIZED_TABLE_SOURCES_TOO_BUSY",
    "The sources changed too often to read all of them in one state.",
    text=(
        "The sources {sources} changed during each of {attempts} attempts to read them in one "
        "state."
    ),
    remedy=(
        "The table keeps the rows it has. Refresh again when they change less often, or write "
        "the query such that its sources can be read as of a version: {reason}."
    ),
)
CONSTRAINT_VIOLATED = Condition(
    error_classes.ConstraintViolatedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_CONSTRAINT_VIOLATED",
    "The rows break a declared key or check.",
    text="Rows of the materialized table {table} violate its constraints; nothing was changed.",
    remedy=(
        "Correct the sources or the query, or drop the constraint; then run the statement again, "
        "which computes the table once more."
    ),
    cost=RemedyCost.TABLE,
)
POSITIONS_NOT_READABLE = _execution(
    "MATERIALIZED_TABLE_POSITIONS_NOT_READABLE",
    "Some partitions alone cannot be computed over the state that the others reflect.",
    text=(
        "The partitions cannot be computed over the state of {sources} that the table's other "
        "rows reflect: {problem}. The table keeps the rows it has."
    ),
    remedy="ALTER MATERIALIZED TABLE … REFRESH computes the whole table over the newest state.",
    cost=RemedyCost.TABLE,
)
REFRESH_FAILED = Condition(
    error_classes.RefreshFailedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_REFRESH_FAILED",
    "Spark could not compute or write the rows.",
    text=(
        "The rows of the materialized table {table} could not be computed or written, nothing "
        "was changed: {problem}"
    ),
    remedy="Remove the cause and run the statement again, which computes the rows once more.",
    cost=RemedyCost.TABLE,
)
SOURCE_FILES_GONE = Condition(
    error_classes.SourceFilesGoneError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_SOURCE_FILES_GONE",
    "Files of an earlier version of a source, which a change was to be read from, are gone.",
    text=(
        "Files of {sources} at an earlier version were removed, so that what changed for the "
        "materialized table {table} cannot be read: {problem}"
    ),
    remedy="Remove the cause and run the statement again, which computes the rows once more.",
    cost=RemedyCost.TABLE,
)
EXECUTOR_LOST = Condition(
    error_classes.ExecutorLostError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_EXECUTOR_LOST",
    "Rows that were kept for a write were lost with their executor: the plan is made again.",
    text="Executors of Spark were lost while they computed rows of {table}, several times.",
    remedy=(
        "Nothing was changed. Run the statement again when the cluster is whole; it computes the "
        "rows from the beginning."
    ),
    cost=RemedyCost.TABLE,
)
REFRESH_NOT_INCREMENTAL = Condition(
    error_classes.RefreshNotIncrementalError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_REFRESH_NOT_INCREMENTAL",
    "A refresh must compute all rows, and the option `incremental` is `strict`.",
    text=(
        "This refresh of the materialized table {table} must compute all rows, which its option "
        "'incremental' = 'strict' forbids. The table keeps the rows it has:"
    ),
    remedy=(
        "spark-mt refresh {table} --force (in Python: refresh(…, force=True)) computes all rows "
        "once. 'incremental' = 'auto' lets every refresh do so where it must; the option costs "
        "one small commit."
    ),
    cost=RemedyCost.TABLE,
)
CHANGE_FAILED = _execution(
    "MATERIALIZED_TABLE_CHANGE_FAILED",
    "Spark could not store a change that computes no rows.",
    text="The materialized table {table} was not changed, it is as it was: {problem}",
    remedy="Run the statement again when the cause is gone; nothing has to be repaired.",
)
OUTCOME_UNKNOWN = Condition(
    error_classes.OutageError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_OUTCOME_UNKNOWN",
    "Spark or a catalog was gone before it returned whether a change was committed.",
    text=(
        "{gone} no longer answers, so it is not known whether the materialized table {table} was "
        "changed; it is either as before or changed completely: {problem}"
    ),
    remedy=(
        "Run the statement again when {gone} is back: it reads which commits there are, does what "
        "is left to do, and nothing if all was done. No row is written twice."
    ),
)
COMMIT_NOT_MADE = Condition(
    error_classes.CommitNotMadeError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_COMMIT_NOT_MADE",
    "A catalog failed at a commit and has not made it: the plan is made again.",
    text=(
        "The catalog {catalog} failed at commits of {table}, several times, and has not made them: "
        "{problem}"
    ),
    remedy=(
        "Nothing was changed. Run the statement again when the catalog works; it computes the rows "
        "from the beginning."
    ),
    cost=RemedyCost.TABLE,
)
CATALOG_UNAVAILABLE = Condition(
    error_classes.OutageError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_CATALOG_UNAVAILABLE",
    "A catalog of tables did not answer a question, before anything was written.",
    text="{catalog} did not answer{asked}, so nothing was changed: {problem}",
    remedy=(
        "Run the statement again when the catalog is back; it does all that it would have done. A "
        "refresh manager tries again itself, after pauses that become longer."
    ),
)
RESULT_CHANGED = Condition(
    error_classes.RefreshSchemaError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_RESULT_CHANGED",
    "The query's result no longer has the columns that the table has.",
    text="The query of the materialized table {table} no longer returns the columns of the table.",
    remedy=(
        "The table keeps the rows it has. CREATE OR ALTER MATERIALIZED TABLE with the same query "
        "takes over appended columns, and with the option 'schema.type-widening' = 'true' wider "
        "types; it keeps the history of the table and fills it again. Other changes need CREATE "
        "OR REPLACE (in dbt: --full-refresh), which computes the whole table again."
    ),
    cost=RemedyCost.TABLE,
)
UNFINISHED_CHANGE = Condition(
    error_classes.UnfinishedChangeError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_UNFINISHED_CHANGE",
    "The change is committed, but properties or comments could not be written.",
    text=(
        "The change of the materialized table {table} is committed and in force, but its "
        "properties or comments could not be written: {problem}"
    ),
    remedy="The next statement on the table finishes this; it costs one small commit.",
    cost=RemedyCost.COMMIT,
)
UNKNOWN_PARTITION_KEY = _execution(
    "MATERIALIZED_TABLE_UNKNOWN_PARTITION_KEY",
    "REFRESH PARTITION names columns that the table is not partitioned by.",
    text=(
        "Cannot refresh partitions of {table}. The partition spec contains unknown partition "
        "keys: {keys}."
    ),
    remedy="The table's partition columns are: {available}. Nothing was changed.",
)
INVALID_PARTITION_VALUE = _execution(
    "MATERIALIZED_TABLE_INVALID_PARTITION_VALUE",
    "A literal of REFRESH PARTITION does not fit its column.",
    text="The value {literal} cannot be cast to the type {type} of partition column {column}.",
    remedy="Write a literal that Spark casts to {type}; nothing was changed.",
)
CANNOT_PARTITION_CLUSTERED = _execution(
    "MATERIALIZED_TABLE_CANNOT_PARTITION_CLUSTERED",
    "A clustered table cannot be replaced by a partitioned one in place.",
    text="{table} was clustered, and a clustered table cannot become a partitioned one in place.",
    remedy=(
        "DROP MATERIALIZED TABLE and CREATE it again; readers miss it in between, and all rows "
        "are computed again."
    ),
    cost=RemedyCost.TABLE,
)
WIDENED_WHILE_SUSPENDED = _execution(
    "MATERIALIZED_TABLE_WIDENED_WHILE_SUSPENDED",
    "Wider types would rewrite the rows of a table that the user has suspended.",
    text="{table} is suspended, so its rows are not rewritten; nothing was changed:",
    remedy="RESUME the table first, then widen its columns; that computes the whole table again.",
    cost=RemedyCost.TABLE,
)
ALREADY_SUSPENDED = Condition(
    error_classes.AlreadySuspendedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_ALREADY_SUSPENDED",
    "SUSPEND finds the table suspended (message of Flink).",
    text="The refresh of materialized table {table} has been suspended already{reason}.",
    remedy="Nothing was changed. ALTER MATERIALIZED TABLE {table} RESUME activates it again.",
)
ALREADY_RESUMED = Condition(
    error_classes.AlreadyResumedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_ALREADY_RESUMED",
    "RESUME finds the table active (message of Flink).",
    text="The refresh of materialized table {table} has been resumed already; it is ACTIVATED.",
    remedy=(
        "Nothing was changed. ALTER MATERIALIZED TABLE {table} REFRESH brings it up to date now; "
        "to give it other run options, SUSPEND it first."
    ),
)
SUSPENDED = Condition(
    error_classes.SuspendedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_SUSPENDED",
    "A scheduled run finds the table suspended.",
    text="The materialized table {table} is suspended{reason}; the scheduled run wrote nothing.",
    remedy="ALTER MATERIALIZED TABLE {table} RESUME refreshes it once and activates it again.",
)
INITIALIZING = _execution(
    "MATERIALIZED_TABLE_INITIALIZING",
    "A statement needs a table that another process is creating at this moment.",
    text=(
        "The materialized table {table} is INITIALIZING: {owner} has been filling it for the "
        "first time since {since}. There are no rows yet; nothing was changed."
    ),
    remedy=(
        "Run the statement again when SHOW JOBS says that it has finished. If the creator is "
        "gone for good, the name is free again within a minute; CREATE OR ALTER MATERIALIZED "
        "TABLE need not wait, at the cost of computing the rows once more."
    ),
    cost=RemedyCost.TABLE,
)
JOB_NOT_FOUND = _execution(
    "MATERIALIZED_TABLE_JOB_NOT_FOUND",
    "DESC JOB names a refresh that the log does not have.",
    text="There is no job '{job_id}' in the log of refreshes of the catalog {catalog}.",
    remedy=(
        "SHOW JOBS lists the refreshes of the last 30 days of the current catalog's tables; "
        "those of another catalog are shown after USE CATALOG."
    ),
)
SOURCE_WITHOUT_TIME = _execution(
    "MATERIALIZED_TABLE_SOURCE_WITHOUT_TIME",
    "A table starts at an instant, but a source does not record its contents at that time.",
    text=(
        "The source {source} has the format {format}, which does not record when its rows were "
        "added: no table can start at an instant of it."
    ),
    remedy=(
        "START_MODE = FROM_BEGINNING reads all that the source holds; a WHERE on a column of the "
        "query leaves out older rows, for the cost of reading them once."
    ),
    cost=RemedyCost.TABLE,
)
SOURCE_ONLY_STREAMS = _execution(
    "MATERIALIZED_TABLE_SOURCE_ONLY_STREAMS",
    "A source can only be read as a stream, but the query must read it as a whole.",
    text=(
        "The source {source} has the format {format}: it can be followed as a stream and has no "
        "rows that could be read as a whole."
    ),
    remedy=(
        "Let the table be CONTINUOUS with a query that can run as a stream, or write the "
        "source's rows to a table with versions first and read that, which stores them once more."
    ),
)
LOG_HISTORY_LOST = _execution(
    "MATERIALIZED_TABLE_LOG_HISTORY_LOST",
    "A statement computes all rows again, but a log no longer has the records of some of them.",
    text=(
        "Computing all rows of materialized table {table} would lose those that its log has "
        "dropped since: {loss}."
    ),
    remedy=(
        "START_MODE = RESUME_OR_FROM_BEGINNING keeps the rows and resumes at their positions, "
        "without any cost. To drop the older rows, use START_MODE = FROM_BEGINNING, or dbt run "
        "--full-refresh: both read what the log still has."
    ),
)
OFFSET_INSIDE_COMMIT = _execution(
    "MATERIALIZED_TABLE_OFFSET_INSIDE_COMMIT",
    "A stream stopped in the middle of a commit of its source.",
    text=(
        "A batch over the source {source} ended inside one of its commits ({offset}): there is "
        "no version of the source that the rows could be compared with."
    ),
    remedy=(
        "Remove the options `maxFilesPerTrigger` and `maxBytesPerTrigger` of the source; the "
        "table keeps the rows it has."
    ),
)
BASELINE_BROKEN = _broken(
    "MATERIALIZED_TABLE_BASELINE_BROKEN",
    (
        "A table with a baseline can no longer follow its sources; it is suspended.\n\n"
        "Computing all of it again would add rows that its start mode excludes, so that is never "
        "done\nautomatically."
    ),
    text="The materialized table {table} cannot follow its sources: {problem}.",
    remedy=_REMEDY,
    cost=RemedyCost.TABLE,
)
SOURCE_REWRITTEN = _broken(
    "MATERIALIZED_TABLE_SOURCE_REWRITTEN",
    "Rows of a source were removed or changed, and the affected rows cannot be found.",
    text=(
        "Rows of {source} were removed or changed after {after}, and the affected rows of the "
        "materialized table {table} cannot be found: {why}."
    ),
    remedy=(
        _STATE
        + "If a PRIMARY KEY is what the query groups by, or what distinguishes its rows, declare "
        "it: then changed rows are followed. Otherwise " + _RESTART
    ),
    cost=RemedyCost.TABLE,
)
SOURCE_HISTORY_GONE = _broken(
    "MATERIALIZED_TABLE_SOURCE_HISTORY_GONE",
    "Changes of a source can no longer be read.",
    text=(
        "What happened to {source} after {after} can no longer be read, so that the materialized "
        "table {table} cannot follow it: its log or its files were cleaned up."
    ),
    remedy=(
        _REMEDY
        + " From then on, refresh more often than the source's history is removed ({retention}, "
        "for a topic of Kafka retention.ms), or make these longer."
    ),
    cost=RemedyCost.TABLE,
)
SOURCE_TYPES_CHANGED = _broken(
    "MATERIALIZED_TABLE_SOURCE_TYPES_CHANGED",
    "Columns of a source have other types than when the rows of the table were computed.",
    text=(
        "The query of the materialized table {table} may make other values of rows that {source} "
        "had at {after} already, because {changes}."
    ),
    remedy=_REMEDY,
    cost=RemedyCost.TABLE,
)
SOURCE_RECREATED = _broken(
    "MATERIALIZED_TABLE_SOURCE_RECREATED",
    "A source was dropped and created again.",
    text=(
        "{source} was dropped and created again after {after}, so that its new rows cannot be "
        "determined for the materialized table {table}."
    ),
    remedy=_REMEDY,
    cost=RemedyCost.TABLE,
)
POSITIONS_LOST = _broken(
    "MATERIALIZED_TABLE_POSITIONS_LOST",
    "The position up to which the rows reflect a source is not known.",
    text=(
        "The position up to which the rows of the materialized table {table} reflect {source} is "
        "no longer known, so that later changes cannot be determined."
    ),
    remedy=_REMEDY,
    cost=RemedyCost.TABLE,
)
PARTITION_UNDER_BASELINE = _execution(
    "MATERIALIZED_TABLE_PARTITION_UNDER_BASELINE",
    "One partition would be computed over source rows that the table excludes.",
    text=(
        "Partitions of the materialized table {table} cannot be refreshed alone, because it "
        "keeps rows that its query does not account for ({baseline}); nothing was changed."
    ),
    remedy=(
        "ALTER MATERIALIZED TABLE … REFRESH applies what changed in its sources. START_MODE = "
        "FROM_BEGINNING computes all rows from all source data; then partitions can be refreshed."
    ),
    cost=RemedyCost.TABLE,
)
NOT_HOSTED = Condition(
    error_classes.NotHostedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_NOT_HOSTED",
    "The table is not hosted in this process.",
    text="The materialized table {table} is not kept fresh by this process.",
    remedy=(
        "Start it: MaterializedTables(spark).start('{table}'); that costs a thread of the driver."
    ),
)
HOSTING_OVER_CONNECT = Condition(
    error_classes.HostingOverConnectError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_HOSTING_OVER_CONNECT",
    "A Connect client cannot host: streams run in the driver's process.",
    text=(
        "A session of Spark Connect cannot keep tables fresh: streams run in the driver's process."
    ),
    remedy=(
        "Call start() in the driver, with a classic session. ALTER MATERIALIZED TABLE … REFRESH "
        "works here too, at the cost of what the sources gained or of the whole query."
    ),
    cost=RemedyCost.TABLE,
)
NOT_FRESH = Condition(
    error_classes.NotFreshError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_NOT_FRESH",
    "A table does not reflect its sources within the time that a caller waits for it.",
    text=(
        "The materialized table {table} does not reflect its sources after {seconds} seconds; it "
        "is {phase}{problem}."
    ),
    remedy=(
        "Wait longer, or correct what it names. ALTER MATERIALIZED TABLE {table} REFRESH brings "
        "it up to date at once, at the cost of what its sources gained or of the whole query."
    ),
    cost=RemedyCost.TABLE,
)
STREAM_NOT_STARTED = _execution(
    "MATERIALIZED_TABLE_STREAM_NOT_STARTED",
    "The query cannot be run as a stream.",
    text="The stream of materialized table {table} could not be started: {problem}.",
    remedy=(
        "The table keeps its rows. ALTER MATERIALIZED TABLE {table} REFRESH brings it up to date "
        "once, at the cost of what its sources gained or of the whole query."
    ),
    cost=RemedyCost.TABLE,
)
NOT_CONTINUOUS = Condition(
    error_classes.NotContinuousError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_NOT_CONTINUOUS",
    "A host can refresh only a table in mode CONTINUOUS.",
    text="The materialized table {table} is refreshed in mode FULL, which nothing can follow.",
    remedy=(
        "ALTER MATERIALIZED TABLE … SET REFRESH_MODE = CONTINUOUS, which computes no row; or let "
        "a scheduler run its refreshes."
    ),
)
CHECKPOINT_LOST = _execution(
    "MATERIALIZED_TABLE_CHECKPOINT_LOST",
    "The checkpoint of a stream is not the one that belongs to the table's rows.",
    text=(
        "The stream of materialized table {table} cannot continue: its checkpoint {checkpoint} "
        "is gone, or has another state than that of the table's rows."
    ),
    remedy=(
        "ALTER MATERIALIZED TABLE {table} REFRESH builds rows and state together again, at the "
        "cost of reading all source data."
    ),
    cost=RemedyCost.TABLE,
)
STREAMS_OVER_CONNECT = _execution(
    "MATERIALIZED_TABLE_STREAMS_OVER_CONNECT",
    "A Connect client cannot refresh a table whose rows are the output of a stream.",
    text=(
        "The rows of materialized table {table} come out of a stream with a checkpoint "
        "({reason}), and a session of Spark Connect cannot run it: streams run in the driver "
        "itself."
    ),
    remedy=(
        "Send the statement to a refresh manager, which works in its driver (`dbt` does so where "
        "one serves the session), or use a classic session (method: session in the profile), or "
        "write a query that can be computed as a whole, over tables with versions."
    ),
)
NOT_PLANNABLE = Condition(
    error_classes.NotPlannableError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_NOT_PLANNABLE",
    "A plan was requested for a statement that changes no definition.",
    text="A plan can be made of CREATE and of ALTER of a definition, but not of: {statement}",
    remedy="Send such a statement; planning it changes nothing.",
)
WAIT_TIMEOUT = Condition(
    error_classes.WaitTimeoutError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_WAIT_TIMEOUT",
    "A table is not started, or not fresh, within the time.",
    text="The materialized table {table} is not {wanted} after {seconds} seconds: {problem}.",
    remedy=(
        "The manager's page and DESC EXTENDED show the cause; raise `at_most` of the model's "
        "config `wait`, or set it to none. The definition is stored, and the manager continues; "
        "nothing else was changed."
    ),
)
UNSUPPORTED_START_MODE_CHANGE = Condition(
    error_classes.InvalidDefinitionError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE_CHANGE",
    "A start mode would take effect that this query over these sources does not allow.",
    text=(
        "Materialized table {table}: START_MODE = {startMode} would take effect, because "
        "{reason}, and that is not possible: {problem}."
    ),
    remedy=(
        "Use START_MODE = FROM_BEGINNING, which computes all rows from all source data in the "
        "place of those that are there; or {alternative}; or REFRESH_MODE = FULL, where the "
        "start mode has no effect and each refresh computes all rows."
    ),
    cost=RemedyCost.TABLE,
)
COMPARISON_FAILED = Condition(
    error_classes.ComparisonFailedError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_COMPARISON_FAILED",
    "A table could not be compared with its query.",
    text=(
        "The rows of the materialized table {table} could not be compared with its query: {problem}"
    ),
    remedy="Nothing was changed. ALTER MATERIALIZED TABLE {table} REFRESH computes its rows again.",
    cost=RemedyCost.TABLE,
)
CONCURRENT_CHANGE = Condition(
    error_classes.CommitConflictError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_CONCURRENT_CHANGE",
    "Another commit came first: the plan is no longer valid and must be made again.",
    text="Another writer changed the materialized table {table} at the same time.",
    remedy="Nothing was changed. Run the statement again; it costs nothing but its own time.",
)
INVALID_ADOPTION_INSTANT = _execution(
    "MATERIALIZED_TABLE_INVALID_ADOPTION_INSTANT",
    "The positions of the sources at the instant that the rows reflect are not known.",
    text="{table} cannot be adopted as of {instant}; nothing was changed:",
    remedy=(
        "Name an instant that is past and that the logs of all sources still reach, or none: "
        "then the rows are trusted to reflect the sources as they are now."
    ),
)
WORKFLOW_NOT_FOUND = Condition(
    error_classes.WorkflowNotFoundError,
    Group.EXECUTION,
    "MATERIALIZED_TABLE_WORKFLOW_NOT_FOUND",
    "The scheduler has no such workflow.",
    text="The workflow scheduler '{scheduler}' has no workflow {workflow}.",
    remedy=(
        "The refresh manager creates the workflow of every ACTIVATED table in mode FULL when it "
        "looks at the table next; that computes no row."
    ),
)
REFRESH_HANDLER_SERIALIZER = _execution(
    "MATERIALIZED_TABLE_REFRESH_HANDLER_SERIALIZER",
    "A refresh handler cannot be stored, or a stored one cannot be read.",
    text=(
        "The workflow scheduler '{scheduler}' cannot {operation} the refresh handler of {table}: "
        "{problem}."
    ),
    remedy=(
        "Correct what the scheduler's method refresh_handler_serializer returns; a scheduler "
        "whose handlers are not FullRefreshHandler needs that method. Then restart the manager. "
        "The scheduler refreshes the table meanwhile. A manager that restarts before the "
        "correction does not know this workflow: if the table is dropped while no manager runs, "
        "delete the workflow in the scheduler."
    ),
)

ARCHIVE_NOT_MADE = _spark(
    "MATERIALIZED_TABLE_ARCHIVE_NOT_MADE",
    "The JVM wrote no archive of its classes.",
    text="Java wrote no archive of classes to {file}. The end of {log}:",
    remedy=(
        "Use a Java of OpenJDK, version 17 or newer, leave 500 MB free on the disk of the file, "
        "and empty SPARK_CONF_DIR: the JVM archives nothing where a folder of its class path has "
        "files. Spark starts without an archive, too, and an older one is kept."
    ),
)
CONNECT_MISSING = _spark(
    "MATERIALIZED_TABLE_CONNECT_MISSING",
    "Python packages that Spark Connect needs are not there.",
    text="Spark Connect needs Python packages that are not installed: {packages}.",
    remedy=(
        "pip install 'dbt-spark-mt[connect]' in dbt's environment. A Spark of dbt's own "
        "(`method: session`) needs none of them."
    ),
)
CONNECT_TOKEN_NEEDED = _spark(
    "MATERIALIZED_TABLE_CONNECT_TOKEN_NEEDED",
    "Spark Connect would be open to every process that reaches its address.",
    text=(
        "Spark Connect was asked to listen on {address}, where others than this machine's users "
        "can reach it, and there is no token. Whoever reaches it can run any code."
    ),
    remedy="Give a token, or listen on {loopback}, for which one is made up. Nothing was started.",
)
SPARK_RUNS_ALREADY = _spark(
    "MATERIALIZED_TABLE_SPARK_RUNS_ALREADY",
    "A driver that runs already cannot begin to serve Spark Connect.",
    text="Spark runs in this process already, without Spark Connect.",
    remedy="Serve from a process of its own, which starts Spark itself. Nothing was changed.",
)
INVALID_SCHEDULE_TIME = _spark(
    "MATERIALIZED_TABLE_INVALID_SCHEDULE_TIME",
    "A scheduled time cannot be read by its pattern.",
    text="The scheduled time '{time}' cannot be read as '{pattern}': {problem}",
    remedy=(
        "Give the time in the table's stored time zone, in the format of scheduleTimeFormat, "
        "which is a datetime pattern of Spark. Nothing was refreshed."
    ),
)
JAVA_MISSING = _spark(
    "MATERIALIZED_TABLE_JAVA_MISSING",
    "There is no Java to run Spark with.",
    text="Spark needs Java, and there is none: JAVA_HOME is {javaHome}, `java` is not on the path.",
    remedy=(
        "Install Java 17 (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew "
        "install openjdk@17), or set JAVA_HOME to the one you have."
    ),
)
UNUSABLE_FOLDER = _spark(
    "MATERIALIZED_TABLE_UNUSABLE_FOLDER",
    "A folder that a process writes to cannot be made or written.",
    text="The folder {folder} cannot be used: {problem}.",
    remedy=(
        "Give the user of this process the right to write there, make room on the disk, or "
        "choose another folder for the project, the warehouse or the log. Nothing was started."
    ),
)
SPARK_DID_NOT_START = _spark(
    "MATERIALIZED_TABLE_SPARK_DID_NOT_START",
    "Spark's JVM ended before it was ready.",
    text="Spark did not start. The end of {log}:",
    remedy=(
        "Correct what it names, often a conf under `server_side_parameters` of the profile or in "
        "spark-defaults.conf, too little memory, or no access to the package repository; then "
        "run dbt again."
    ),
)
SQL_PARAMETERS = _spark(
    "MATERIALIZED_TABLE_SQL_PARAMETERS",
    "A client gave values for parameters of one of our statements.",
    text="The statement came with values of parameters, which only statements of Spark take.",
    remedy="Write the values into the text of the statement. Nothing was done.",
)
SQL_NOT_A_QUERY = _spark(
    "MATERIALIZED_TABLE_SQL_NOT_A_QUERY",
    "A client asks for columns or plan of a statement, which would carry it out each time.",
    text=(
        "The client asked for the columns or the plan of the statement. Spark would carry the "
        "statement out for that, and again for its rows."
    ),
    remedy="Send it as a command, which runs once, as spark.sql() does. Nothing was done.",
)
SQL_BEFORE_STOP = _spark(
    "MATERIALIZED_TABLE_SQL_BEFORE_STOP",
    "The process that carries out statements is about to stop.",
    text="The process that carries out statements about materialized tables is about to stop.",
    remedy="Run the statement again when it has started. Nothing was done.",
)
SQL_HOOK_UNUSABLE = Condition(
    error_classes.UnusableHookError,
    Group.SPARK,
    "MATERIALIZED_TABLE_SQL_HOOK_UNUSABLE",
    "Spark's classes do not take the hook.",
    text="Spark {version} cannot be taught the statements about materialized tables: {problem}",
    remedy=(
        "dbt, `spark-mt sql` and MaterializedTables.sql() run them all the same. Use a release of "
        "Spark that docs/compatibility.md lists, or report this text to the project."
    ),
)
SQL_HOOK_OVER_CONNECT = Condition(
    error_classes.HookOverConnectError,
    Group.SPARK,
    "MATERIALIZED_TABLE_SQL_HOOK_OVER_CONNECT",
    "A client of Spark Connect cannot change the parser of the server.",
    text="This session is one of Spark Connect, and its server parses its statements.",
    remedy=(
        "A refresh manager's server understands them in every session (`spark-mt serve`). In a "
        "session of another server, run them with MaterializedTables.sql(). Nothing was changed."
    ),
)
METASTORE_IN_USE = Condition(
    error_classes.MetastoreInUseError,
    Group.SPARK,
    "MATERIALIZED_TABLE_METASTORE_IN_USE",
    "Another process has the Derby metastore open.",
    text="The metastore {metastore} is in use by {holder}; Derby serves one process at a time.",
    remedy=(
        "Wait until it ends or stop it. A process that shall run all the time can let others "
        "work in its Spark: `spark-mt serve` does, and `method: auto`, the default in a profile, "
        "finds it. Or use a metastore that several processes can share, with "
        "`spark.hadoop.hive.metastore.uris: thrift://...` under `server_side_parameters`."
    ),
)

TOKEN_REQUIRED = _manager(
    "MATERIALIZED_TABLE_TOKEN_REQUIRED",
    "The manager shall be reached from other machines, and has no token.",
    text="The manager does not listen at {host} without a token: {reason}.",
    remedy=(
        "Give it a token of {length} characters or more in a file (--token-file) or in "
        "SPARK_MT_TOKEN, or let it listen at 127.0.0.1, where only this machine reaches it."
    ),
)
WEAK_TOKEN = _manager(
    "MATERIALIZED_TABLE_WEAK_TOKEN",
    "A token that is easily guessed, or cannot be sent in a header.",
    text="The token of the manager cannot be used: {reason}.",
    remedy=(
        "Use {length} or more letters, digits and signs without blanks, such as the output of "
        "`openssl rand -hex 32`; nothing else depends on the token."
    ),
)
ADDRESS_TAKEN = _manager(
    "MATERIALIZED_TABLE_ADDRESS_TAKEN",
    "The manager cannot listen where it should.",
    text="The manager cannot listen at {host}, port {port}: {problem}.",
    remedy="Stop what listens there, or choose another port or address; port 0 takes a free one.",
)
HTTP_SERVER_NOT_STARTED = _manager(
    "MATERIALIZED_TABLE_HTTP_SERVER_NOT_STARTED",
    "The HTTP server did not come up.",
    text="The HTTP server at {host}, port {port} did not start: {problem}.",
    remedy="The manager's log has the details. No table was touched; start the manager again.",
)
UNAUTHENTICATED = _manager(
    "MATERIALIZED_TABLE_UNAUTHENTICATED",
    "A request carries no token or session that is valid, and needs one.",
    text="This request needs the manager's token.",
    remedy=(
        "Send it in the header `Authorization: Bearer`, or sign in on the status page. On the "
        "manager's machine `spark-mt token` prints it."
    ),
)
WRONG_TOKEN = _manager(
    "MATERIALIZED_TABLE_WRONG_TOKEN",
    "The token that was typed into the page is not the manager's.",
    text="That is not the manager's token.",
    remedy="On the manager's machine `spark-mt token` prints it.",
)
CROSS_SITE_REQUEST = _manager(
    "MATERIALIZED_TABLE_CROSS_SITE_REQUEST",
    "A browser asks for a change, and nothing shows that the manager's own page began it.",
    text="The manager takes no changes from this page: {reason}.",
    remedy=(
        "Use the buttons of the status page after signing in, or send the manager's token in the "
        "header `Authorization: Bearer`. Nothing was done."
    ),
)
UNKNOWN_HOST = _manager(
    "MATERIALIZED_TABLE_UNKNOWN_HOST",
    "The manager was addressed by a name that is not its own, as by a page that rebinds DNS.",
    text="The manager is not known under the name that the request has in its Host header.",
    remedy=(
        "Address it as 127.0.0.1 or localhost, or start it with the names under which it shall "
        "answer and with a token. Nothing was done."
    ),
)
INVALID_REQUEST = _manager(
    "MATERIALIZED_TABLE_INVALID_REQUEST",
    "The body or the query of a request is not what the route takes.",
    text="The request is not valid; nothing was done.",
    remedy="Correct it as /openapi.json says, and send it again.",
)
UNSUPPORTED_MEDIA_TYPE = _manager(
    "MATERIALIZED_TABLE_UNSUPPORTED_MEDIA_TYPE",
    "A request that changes something is not sent as JSON.",
    text="The request is of the media type '{found}', not application/json; nothing was done.",
    remedy="Send the header `Content-Type: application/json`, without a body too.",
)
REQUEST_TIMEOUT = _manager(
    "MATERIALIZED_TABLE_REQUEST_TIMEOUT",
    "The body of a request did not come in time.",
    text="The body of the request did not come within {seconds} seconds; nothing was done.",
    remedy="Send the request again, with all of its body at once.",
)
TOO_MANY_TRIES = _manager(
    "MATERIALIZED_TABLE_TOO_MANY_TRIES",
    "Too many wrong tokens came from an address.",
    text="There were too many tries with wrong tokens from this address; this one is wrong, too.",
    remedy=(
        "Try again after {seconds} seconds, or with the right token, which is taken at any time. "
        "On the manager's machine `spark-mt token` prints it."
    ),
)
REQUEST_TOO_LARGE = _manager(
    "MATERIALIZED_TABLE_REQUEST_TOO_LARGE",
    "The body of a request is longer than any that makes sense.",
    text="The body of the request is longer than {limit} bytes; nothing was done.",
    remedy="Send less, or run the statement with `spark-mt sql`.",
)
NO_SUCH_ROUTE = _manager(
    "MATERIALIZED_TABLE_NO_SUCH_ROUTE",
    "There is nothing at this path.",
    text="There is nothing at {path}.",
    remedy="/openapi.json lists what there is.",
)
METHOD_NOT_ALLOWED = _manager(
    "MATERIALIZED_TABLE_METHOD_NOT_ALLOWED",
    "There is something at this path, but not for this method.",
    text="{path} does not take {method}; nothing was done.",
    remedy="It takes {allowed}; /openapi.json has what for.",
)
MANAGER_BUSY = _manager(
    "MATERIALIZED_TABLE_MANAGER_BUSY",
    "So many requests are being carried out that another one would only wait.",
    text="The manager is carrying out {limit} requests already; nothing was done.",
    remedy="Send the request again in a few seconds.",
)
MANAGER_STOPPING = _manager(
    "MATERIALIZED_TABLE_MANAGER_STOPPING",
    "The manager stops, and does not wait any longer for what a request began.",
    text="The manager stops; whether the request is carried out is not known.",
    remedy=(
        "Ask again when it runs: SHOW JOBS and the page of the table show what was done. "
        "Repeating a request does no harm."
    ),
)
INTERNAL_ERROR = _manager(
    "MATERIALIZED_TABLE_INTERNAL_ERROR",
    "The manager failed at a request in a way that it does not know.",
    text="The manager failed at this request; whether anything was done is not known.",
    remedy=(
        "Its log has the details under the request's id; SHOW JOBS and the page of the table "
        "show what was done. Repeating a request does no harm."
    ),
)
SCHEDULE_TIME_MISSING = _manager(
    "MATERIALIZED_TABLE_SCHEDULE_TIME_MISSING",
    "A periodic refresh does not say for when (message of Flink).",
    text=(
        "The scheduler time must not be null during the periodic refresh of the materialized "
        "table {table}."
    ),
    remedy=(
        "Send scheduleTime, in the format of scheduleTimeFormat and the table's time zone; or "
        "send isPeriodic = false, which computes the whole table."
    ),
    cost=RemedyCost.TABLE,
)
NOT_EXECUTABLE = _manager(
    "MATERIALIZED_TABLE_NOT_EXECUTABLE",
    "A manager was asked to carry out something else than what needs its driver.",
    text="A manager carries out CREATE, ALTER and REFRESH of a table, but not: {statement}",
    remedy="Run it in a session of your own; nothing was done.",
)
SESSION_GONE = _manager(
    "MATERIALIZED_TABLE_SESSION_GONE",
    "A statement was to be carried out in a session that the driver does not have.",
    text="The manager's Spark Connect server has no session {session}.",
    remedy="It has ended, or is one of another server: open a new one. Nothing was done.",
)
REQUEST_IN_PROGRESS = _manager(
    "MATERIALIZED_TABLE_REQUEST_IN_PROGRESS",
    "A statement has the id of a request that is being carried out.",
    text="A request of the id {request} is being carried out; this one was not begun.",
    remedy="Wait for the answer of the other one, or send this one under an id of its own.",
)
UNKNOWN_NAME = _manager(
    "MATERIALIZED_TABLE_UNKNOWN_NAME",
    "A request names a catalog, a schema or a relation that Spark does not find.",
    text="Spark does not find what the request names: {problem}",
    remedy="SHOW CATALOGS, SHOW SCHEMAS and SHOW TABLES list the names; nothing was done.",
)
REQUEST_REFUSED = _manager(
    "MATERIALIZED_TABLE_REQUEST_REFUSED",
    "Spark refuses what a request says, at a point that has no error of its own.",
    text="Spark refuses the request: {problem}",
    remedy="Correct the name or the text in it, and send it again; nothing was done.",
)
STATEMENT_FAILED = _manager(
    "MATERIALIZED_TABLE_STATEMENT_FAILED",
    "Spark failed at a statement at a point that has no error of its own, or was interrupted.",
    text="Spark failed at the statement: {problem}",
    remedy=(
        "The table is as before, or the statement is done but for its last steps; run it again, "
        "which finishes it."
    ),
)
REFRESH_NOT_ACCEPTED = _manager(
    "MATERIALIZED_TABLE_REFRESH_NOT_ACCEPTED",
    "A manager takes no further refresh, because too many wait or because it stops.",
    text="The manager does not accept a refresh of {table}: {reason}. Nothing was done.",
    remedy=(
        "Send it again after the seconds of Retry-After; refreshes that were accepted are "
        "carried out. Several refreshes of a table that wait compute its rows once."
    ),
)
UNKNOWN_SCHEDULER = Condition(
    error_classes.UnknownSchedulerError,
    Group.MANAGER,
    "MATERIALIZED_TABLE_UNKNOWN_SCHEDULER",
    "No workflow scheduler can be made under the configured name.",
    text="The workflow scheduler '{scheduler}' cannot be loaded: {problem}.",
    remedy=(
        "Set spark.materialized-table.scheduler to one of {known}, to the name of an entry point "
        "in the group dbt_spark_mt.workflow_schedulers, or to `module:callable`. No table was "
        "changed, but none in mode FULL is refreshed before a scheduler runs."
    ),
)

MANAGER_UNREACHABLE = Condition(
    error_classes.ManagerUnreachableError,
    Group.CLIENT,
    "MATERIALIZED_TABLE_MANAGER_UNREACHABLE",
    "No manager answers at the URL.",
    text="No manager answers at {url}: {problem}.",
    remedy=(
        "Start it with `spark-mt serve`, or correct --url; without --url the manager of the same "
        "warehouse is asked, if there is one. Nothing is known to have been done."
    ),
)
MANAGER_REFUSED = Condition(
    error_classes.ManagerRefusedError,
    Group.CLIENT,
    "MATERIALIZED_TABLE_MANAGER_REFUSED",
    "The manager refused a request, or failed at it; `answer` has its own condition.",
    text="The manager at {url} answered {status}: {detail}",
    remedy="{advice}",
)
PROFILE = _client(
    "MATERIALIZED_TABLE_PROFILE",
    "The dbt profile that the command line was to use cannot be used.",
    text="The dbt profile cannot be used: {problem}.",
    remedy=(
        "Correct it, name another one with --profiles-dir, --profile and --target, or run the "
        "command outside of the project and give Spark's confs with --conf. Nothing was done."
    ),
)
NO_MANAGER = _client(
    "MATERIALIZED_TABLE_NO_MANAGER",
    "A manager of this warehouse was to be found, and there is none.",
    text="No manager of this warehouse was found: {reason}.",
    remedy=(
        "Start one with `spark-mt serve`, or run the command where the project of the manager "
        "is, on the same machine and as the same user."
    ),
)
SERVE_MISSING = _client(
    "MATERIALIZED_TABLE_SERVE_MISSING",
    "Packages that a manager needs are not installed.",
    text="The manager needs packages that are not installed, such as {module}.",
    remedy="Install them: pip install 'dbt-spark-mt[serve]'.",
)

CATALOGS_FILE = _dbt(
    "MATERIALIZED_TABLE_CATALOGS_FILE",
    "The project has a file that says where adapters of warehouses write Iceberg tables.",
    text="catalogs.yml describes the catalog {name} for tables of Iceberg, which is not used here.",
    remedy=(
        "Remove it from catalogs.yml. A catalog of Spark is configured in Spark "
        "(`spark.sql.catalog.{name}`), and a model names it with `database: {name}` in its "
        "config, or the profile with `catalog: {name}`."
    ),
)
FORMAT_OF_CATALOG = _dbt(
    "MATERIALIZED_TABLE_FORMAT_OF_CATALOG",
    "A model names a table format that the tables of its catalog do not have.",
    text=(
        "{table} is to be a table of {format} (`file_format: {name}`), and the tables of the "
        "catalog {catalog} are tables of {made}."
    ),
    remedy=(
        "Write `file_format: {madeName}` or leave it out, or name a catalog of {format} with "
        "`database`. Nothing was changed."
    ),
)
MICROBATCH_PARTITIONS = _dbt(
    "MATERIALIZED_TABLE_MICROBATCH_PARTITIONS",
    "A microbatch model has no `partition_by`.",
    text="The microbatch model {table} has no `partition_by`.",
    remedy=(
        "Name columns there with other values in each batch: each batch replaces the partitions "
        "that have rows of it. Nothing was changed."
    ),
)
CONFIGURATION_CHANGED = Condition(
    error_classes.ConfigurationChangedError,
    Group.DBT,
    "MATERIALIZED_TABLE_CONFIGURATION_CHANGED",
    "The configuration of a model changed whose `on_configuration_change` is `fail`.",
    text=(
        "Configuration changes were identified and `on_configuration_change` was set to `fail` "
        "for `{table}`:"
    ),
    remedy=(
        "Set on_configuration_change to apply or continue, or take the change back; nothing is "
        "changed, the query included."
    ),
)
INVALID_CONFIG = _dbt(
    "MATERIALIZED_TABLE_INVALID_CONFIG",
    "A model's config cannot be used.",
    text="The config of model {model} cannot be used:",
    remedy=(
        "Nothing was changed. docs/configuration.md lists the keys with their values; keys of "
        "your own belong under `meta`."
    ),
)
PYTHON_MODEL = _dbt(
    "MATERIALIZED_TABLE_PYTHON_MODEL",
    "A Python model asks for a materialization that is a stored query.",
    text=(
        "{model} ({path}) is a Python model, and a {materialized} is a query that Spark runs "
        "again without dbt. Nothing was changed."
    ),
    remedy=(
        "Write the model in SQL. Or let it be `materialized: table` or `incremental`, and select "
        "from it in a SQL model that is a {materialized}: that costs the storage of the table, "
        "and what Python computes is as old as the last dbt run."
    ),
    cost=RemedyCost.TABLE,
)
PYTHON_MODEL_FAILED = _dbt(
    "MATERIALIZED_TABLE_PYTHON_MODEL_FAILED",
    "The code of a Python model raised an exception.",
    text="The Python model {model} raised {error}\n{trail}",
    remedy="The model's table is as it was. The whole stack is in dbt's log file.",
)
PYTHON_MODEL_RESULT = Condition(
    error_classes.UnsupportedFrameError,
    Group.DBT,
    "MATERIALIZED_TABLE_PYTHON_MODEL_RESULT",
    "A Python model returned something that is no set of rows.",
    text="The Python model {model} returned {kind}, which cannot become a table.",
    remedy=(
        "Return a Spark DataFrame, a pandas-on-Spark DataFrame or a pandas DataFrame. The "
        "model's table is as it was."
    ),
)
SEED_NUMBER_TOO_LONG = _dbt(
    "MATERIALIZED_TABLE_SEED_NUMBER_TOO_LONG",
    "A number was rounded before we saw it.",
    text="The seed's column {column} holds numbers of 28 digits or more, which dbt rounds.",
    remedy=(
        "Name the column's type, then it is read as text: `column_types: {{{column}: "
        "decimal(38,0)}}`."
    ),
)
UNKNOWN_MODEL = _dbt(
    "MATERIALIZED_TABLE_UNKNOWN_MODEL",
    "`select` names something that is no model of the project.",
    text="`select` does not fit the project's models of materialization materialized_table:",
    remedy=(
        "Name models as a text or a list, with * for any characters, or tag:<tag>. Nothing was "
        "changed."
    ),
)

FRESHNESS_TOO_LONG_IN_STATEMENT = FRESHNESS_TOO_LONG.in_statement(
    "FRESHNESS is longer than the longest one."
)
INVALID_FRESHNESS_IN_STATEMENT = INVALID_FRESHNESS.in_statement(
    "FRESHNESS holds no positive whole number, or one that is too large.",
    "Write a whole number from 1 to 2147483647, without a sign, such as INTERVAL '3' MINUTE.",
)
INVALID_FRESHNESS_UNIT_IN_STATEMENT = INVALID_FRESHNESS_UNIT.in_statement(
    "FRESHNESS has a unit that no schedule knows, such as MONTH.",
    "{suggestion}MONTH and YEAR are units of START_MODE only; 30 days are INTERVAL '30' DAY.",
)
INVALID_START_MODE_IN_STATEMENT = INVALID_START_MODE.in_statement(
    "START_MODE's keyword and argument do not fit together."
)
INVALID_STATE_RETENTION_IN_STATEMENT = INVALID_STATE_RETENTION.in_statement(
    "STATE_RETENTION names operators where it cannot.",
    "Leave the operators out, or write STATE_RETENTION = PTF_ONLY({found} …).",
)


def raise_violations(table: str, violations: Sequence[MaterializedTableError]) -> None:
    """Raise the violations: a single one as it is, several as one error that lists them in order.

    Raises:
        MaterializedTableError: The only violation.
        InvalidDefinitionError: There are several.
    """
    if not violations:
        return
    if len(violations) == 1:
        raise violations[0]
    listed = [error_classes.as_violation(each) for each in violations]
    combined = INVALID_DEFINITION(table=table, violations=listed)
    combined.errors = tuple(violations)
    raise combined


def made_again(
    condition: str, parameters: Mapping[str, str], violations: Sequence[str]
) -> MaterializedTableError | None:
    """Return an error of another process as one of this process, with the same class and text.

    Args:
        condition: Its condition.
        parameters: Its parameters.
        violations: Its violations.

    Returns:
        None where no condition that is known here has the name and takes the parameters.
    """
    for known in Condition.named(condition):
        with suppress(KeyError):  # another release names other parameters
            error: MaterializedTableError = known(violations=violations, **parameters)
            return error
    return None
