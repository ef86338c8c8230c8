"""`spark-mt sql` and `spark-mt plan`: statements about materialized tables and for Spark."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli import options
from dbt.adapters.spark_mt.cli.output import print_json, print_rows

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.cli.options import ManagerChoice, SparkChoice
    from dbt.adapters.spark_mt.cli.session import Rows
    from dbt.adapters.spark_mt.client.rest import Json


_PLAN_COLUMNS = ("table", "action", "changes", "violations", "message", "warnings")


@dataclass(frozen=True, slots=True)
class TextChoice:
    """Where the statements are: in an argument, a file, or standard input."""

    statement: str | None = None
    file: Path | None = None

    def statements(self) -> tuple[str, ...]:
        """Return the statements.

        Raises:
            UsageError: There are none, or two places were named.
        """
        if self.statement is not None and self.file is not None:
            raise click.UsageError("give a statement or --file, not both")  # noqa: EM101, TRY003 - click's error class takes a text
        if self.statement is not None:
            text = self.statement
        elif self.file is not None:
            text = self.file.read_text(encoding="utf-8")
        elif sys.stdin.isatty():
            raise click.UsageError("give a statement, --file, or statements on standard input")  # noqa: EM101, TRY003 - as above
        else:
            text = sys.stdin.read()
        from dbt.adapters.spark_mt.sql_tokens import statements_of  # noqa: PLC0415 - loads sqlglot

        found = statements_of(text)
        if not found:
            raise click.UsageError("there is no statement")  # noqa: EM101, TRY003 - as above
        return found


_text_options = options.grouped(
    "text",
    TextChoice,
    click.argument("statement", required=False),
    click.option(
        "--file",
        "-f",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A file with statements, separated by semicolons.",
    ),
)


@click.command(short_help="Run statements, of materialized tables and of Spark.")
@_text_options
@click.option("--limit", type=click.IntRange(min=1), default=1000, help="The most rows to print.")
@options.spark_options
@options.json_option
def sql(text: TextChoice, limit: int, spark: SparkChoice, as_json: bool) -> None:  # noqa: FBT001 - click gives flags by name
    """Run statements, those about materialized tables and any other of Spark.

    Takes STATEMENT, a file, or standard input, and ends at the first statement that fails. With
    --json each statement prints one line: a list of its rows. Runs in the manager's driver where
    one serves the same warehouse.
    """
    statements = text.statements()
    from dbt.adapters.spark_mt.cli.session import open_session  # noqa: PLC0415 - loads PySpark

    with open_session(options.place_of(spark)) as session:
        for statement in statements:
            _print(session.execute(statement, limit), as_json=as_json)


@click.command(short_help="Show what statements would change.")
@_text_options
@options.spark_options
@options.manager_options
@options.json_option
def plan(text: TextChoice, spark: SparkChoice, manager: ManagerChoice, as_json: bool) -> None:  # noqa: FBT001 - click gives flags by name
    """Show what CREATE or ALTER statements would do; nothing is changed.

    Prints the rows of EXPLAIN, and fails where a statement would be refused. A manager that was
    named with --url is asked; otherwise the statement is planned in a session, in the manager's
    driver where one serves the same warehouse. Each statement is planned for the tables as they
    are now, not as the statement before it would leave them.
    """
    statements = text.statements()
    if manager.url is not None:
        from dbt.adapters.spark_mt.client.rest import ManagerClient  # noqa: PLC0415 - late

        client = ManagerClient(manager.url, options.token_of(manager.token_file))
        answers = [client.plan(statement) for statement in statements]
        _print_plans(answers, as_json=as_json)
        return
    from dbt.adapters.spark_mt.cli.session import open_session, rows_of  # noqa: PLC0415 - late
    from dbt.adapters.spark_mt.execution.alter import plannable  # noqa: PLC0415 - late
    from dbt.adapters.spark_mt.statements.parser import ParsedStatement  # noqa: PLC0415 - late

    parsed = [ParsedStatement.of(statement) for statement in statements]
    for each in parsed:
        plannable(each)  # an error is raised before Spark starts
    with open_session(options.place_of(spark)) as session:
        for each in parsed:
            _print(rows_of(session.tables.explain(each)), as_json=as_json)


def _print_plans(answers: list[Json], *, as_json: bool) -> None:
    if as_json:
        for answer in answers:
            print_json(answer)
    else:
        rows = [[answer.get(column) for column in _PLAN_COLUMNS] for answer in answers]
        print_rows(_PLAN_COLUMNS, rows, cut=False)
    if any(answer.get("action") == "REFUSED" for answer in answers):
        click.get_current_context().exit(1)


def _print(rows: Rows, *, as_json: bool) -> None:
    if as_json:
        print_json([dict(zip(rows.columns, row, strict=True)) for row in rows.rows])
    elif rows.columns:
        print_rows(rows.columns, rows.rows, cut=rows.is_cut)
