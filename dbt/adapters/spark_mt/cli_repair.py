"""`spark-mt repair`: rebuilds the registry of a catalog from its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli_options import json_option, spark_options
from dbt.adapters.spark_mt.cli_output import plain, print_json
from dbt.adapters.spark_mt.cli_profiles import place_of

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.cli_options import SparkChoice

_FAILED = "FAILED"


@click.command(short_help="Rebuild the registry from the tables.")
@spark_options
@json_option
def repair(spark: SparkChoice, as_json: bool) -> None:  # noqa: FBT001 - click gives flags by name
    """Look at every table of the catalog, and correct what its registry says.

    Rows that are missing or wrong are written, those of tables that are gone are taken out; no
    table is changed. It takes a few tenths of a second per table, plain ones too. A table that
    cannot be read keeps its row; the command then ends with 1 and names it.
    """
    from dbt.adapters.spark_mt.cli_spark import open_tables  # noqa: PLC0415 - loads PySpark

    with open_tables(place_of(spark)) as tables:
        done = [(each.table, each.action.value, each.problem) for each in tables.repair()]
    if as_json:
        keys = ("table", "action", "problem")
        print_json([dict(zip(keys, each, strict=True)) for each in done])
    failed = [each for each in done if each[1] == _FAILED]
    if not as_json:
        for table, action, _ in done:
            click.echo(plain(f"{action:<13} {table}"))
        click.echo(f"{len(done) - len(failed)} rows corrected, {len(failed)} failed")
    for table, _, problem in failed:
        click.echo(click.style(f"{plain(table)} failed:", fg="red", bold=True), err=True)
        click.echo(plain(problem), err=True)
    if failed:
        click.get_current_context().exit(1)
