"""`spark-mt`: the refresh manager and materialized tables from a shell.

Nothing heavy is loaded before a command needs it: no PySpark, no dbt.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.cli_output import plain, print_error
from dbt.adapters.spark_mt.cli_refresh import refresh
from dbt.adapters.spark_mt.cli_repair import repair
from dbt.adapters.spark_mt.cli_serve import serve, token
from dbt.adapters.spark_mt.cli_sql import plan, sql
from dbt.adapters.spark_mt.cli_status import status
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

_INTERRUPTED = 130


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
        except Exception as error:  # noqa: BLE001 - told in full with --debug
            _tell(error)
            return ctx.exit(1)


def _tell(error: Exception) -> None:
    """Print an error without its stack."""
    if isinstance(error, MaterializedTableError):
        print_error(error)
    elif not _is_of_spark(error):
        click.echo(f"{type(error).__name__}: {plain(error)}", err=True)
        click.echo("This is unexpected; --debug before the command shows where.", err=True)


def _is_of_spark(error: Exception) -> bool:
    """Print an error if Spark made it."""
    if "pyspark" not in sys.modules:
        return False
    from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error  # noqa: PLC0415

    if not is_spark_error(error):
        return False
    failure = failure_of(error)
    place = failure.line_and_column
    where = f" (line {place[0]}, column {place[1]})" if place else ""
    click.echo(click.style(f"[{failure.condition}]", fg="red", bold=True), nl=False, err=True)
    click.echo(f" {failure.message}{where}", err=True)
    return True


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version, prog_name="spark-mt")
@click.option("--debug", is_flag=True, help="Print the stacks of errors.")
def commands(debug: bool) -> None:  # noqa: FBT001 - `_Commands` reads it; click gives flags by name
    """Materialized tables for Apache Spark.

    Commands look for the dbt project here or above and take the confs of Spark from its profile;
    without one, from --conf. They ask the manager of the same warehouse where there is one.
    """


for _command in (serve, token, status, refresh, plan, sql, repair):
    commands.add_command(_command)


def main() -> None:
    """The command `spark-mt`."""
    commands()


if __name__ == "__main__":
    main()
