"""Entry point of `spark-mt`, and the commands `spark-mt archive` and `spark-mt repair`.

Modules of commands load neither PySpark nor dbt before a command needs them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.cli import output
from dbt.adapters.spark_mt.cli.options import json_option, place_of, spark_options
from dbt.adapters.spark_mt.cli.refresh import refresh
from dbt.adapters.spark_mt.cli.serve import serve, token
from dbt.adapters.spark_mt.cli.sql import plan, sql
from dbt.adapters.spark_mt.cli.status import status
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.cli.options import SparkChoice


_FAILED = "FAILED"


_INTERRUPTED = 130


@click.command(short_help="Rebuild the registry from the tables.")
@spark_options
@json_option
def repair(spark: SparkChoice, as_json: bool) -> None:  # noqa: FBT001 - click gives flags by name
    """Read every table of the catalog, and correct what its registry says.

    Rows that are missing or wrong are written, those of tables that are gone are taken out; no
    table is changed. It takes a few tenths of a second per table, plain ones too. A table that
    cannot be read keeps its row; the command then ends with 1 and names it.
    """
    from dbt.adapters.spark_mt.cli.session import open_session  # noqa: PLC0415 - loads PySpark

    with open_session(place_of(spark)) as session:
        repaired = session.tables.repair()
    done = [(each.table, each.action.value, each.problem) for each in repaired]
    failed = [(table, problem) for table, action, problem in done if action == _FAILED]
    if as_json:
        keys = ("table", "action", "problem")
        output.print_json([dict(zip(keys, each, strict=True)) for each in done])
    else:
        for table, action, _ in done:
            click.echo(output.plain(f"{action:<13} {table}"))
        click.echo(f"{len(done) - len(failed)} rows corrected, {len(failed)} failed")
    output.end_with_failures(failed)


@click.command(short_help="Let Spark start faster.")
@spark_options
def archive(spark: SparkChoice) -> None:
    """Archive the classes of Spark's JVM, from which each later start maps them.

    Commands, managers and dbt of the same user, Java and PySpark start from the archive. It has
    some 230 MB and is in ~/.cache/dbt-spark-mt, or below XDG_CACHE_HOME. It takes half a minute,
    in a Spark that reaches none of your tables. Run it again after an update of Java, PySpark or a
    jar: the JVM does not use an archive that does not fit, and starts as without one.
    """
    from dbt.adapters.spark_mt.cli.session import archive_classes  # noqa: PLC0415 - loads PySpark

    file = archive_classes(place_of(spark))
    size = file.stat().st_size / 1024**2
    click.echo(f"Spark starts from {file} ({size:.0f} MB) from now on.")


class _Commands(click.Group):
    """Prints errors of tables and of Spark as they are, without a stack."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - the signature of click
        """Run a command; what fails ends in exit code 1, an interrupt in 130."""
        if ctx.params["debug"]:
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            return ctx.exit(_INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001 - --debug prints the stack
            _print_failure(error)
            return ctx.exit(1)


def _print_failure(error: Exception) -> None:
    """Print an error without its stack."""
    if isinstance(error, MaterializedTableError):
        output.print_error(error)
        return
    if "pyspark" in sys.modules:
        from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error  # noqa: PLC0415

        if is_spark_error(error):
            failure = failure_of(error)
            place = failure.line_and_column
            where = f" (line {place[0]}, column {place[1]})" if place else ""
            condition = click.style(f"[{failure.condition}]", fg="red", bold=True)
            click.echo(f"{condition} {failure.message}{where}", err=True)
            return
    click.echo(f"{type(error).__name__}: {output.plain(error)}", err=True)
    click.echo("This is unexpected; --debug before the command shows where.", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version, prog_name="spark-mt")
@click.option("--debug", is_flag=True, help="Print the stacks of errors.")
def commands(debug: bool) -> None:  # noqa: FBT001 - `_Commands` reads it; click gives flags by name
    """Materialized tables for Apache Spark.

    Commands look for the dbt project here or above and take the confs of Spark from its profile;
    without one, from --conf. They ask the manager of the same warehouse where there is one.
    """


for _command in (serve, token, status, refresh, plan, sql, archive, repair):
    commands.add_command(_command)


def main() -> None:
    """The command `spark-mt`."""
    commands()


if __name__ == "__main__":
    main()
