"""`spark-mt serve` starts the refresh manager; `spark-mt token` prints its token."""

from __future__ import annotations

import logging
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from dbt.adapters.spark_mt.cli import options
from dbt.adapters.spark_mt.definition import conditions

if TYPE_CHECKING:
    from pathlib import Path

    from dbt.adapters.spark_mt.cli.options import SparkChoice
    from dbt.adapters.spark_mt.manager.serve import ServeOptions, Serving


_PACKAGES = ("fastapi", "prometheus_client", "pydantic", "starlette", "structlog", "uvicorn")
_LOOPBACK = "127.0.0.1"


_PORT = click.IntRange(0, 65_535)
_SECONDS = click.FloatRange(min=0, min_open=True)


_address_options = options.with_options(
    click.option("--host", default=_LOOPBACK, help="The address to listen at.", show_default=True),
    click.option(
        "--port",
        type=_PORT,
        default=8765,
        show_default=True,
        help="The port of page and REST interface; 0 for a free one.",
    ),
    click.option(
        "--name",
        "names",
        multiple=True,
        metavar="HOST",
        help="A further name under which it answers, as behind a proxy. May be given several "
        "times.",
    ),
    click.option("--connect/--no-connect", default=True, help="Serve Spark Connect as well."),
    click.option(
        "--connect-port",
        type=_PORT,
        default=0,
        show_default=True,
        help="The port of Spark Connect; 0 for a free one.",
    ),
    click.option(
        "--plain-sql/--no-plain-sql",
        default=True,
        help="Let every client of Spark Connect send statements about materialized tables as SQL.",
    ),
)


_work_options = options.with_options(
    click.option(
        "--log-format",
        type=click.Choice(["console", "json"]),
        default="console",
        show_default=True,
        help="For people, or one JSON object a line.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="What to log.",
    ),
    click.option(
        "--tick-seconds",
        type=_SECONDS,
        default=5.0,
        show_default=True,
        help="The time between two ticks, which check every table.",
    ),
    click.option(
        "--takeover-after",
        "takeover_after_seconds",
        type=click.FloatRange(min=30),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="For how long another manager must be silent before this one takes over.",
    ),
    click.option(
        "--suspend-after",
        type=click.IntRange(min=0),
        default=20,
        show_default=True,
        metavar="FAILURES",
        help="Suspend a table after so many failures of the same cause in a row; 0 for never.",
    ),
    click.option(
        "--stop-within",
        "stop_within_seconds",
        type=_SECONDS,
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="Within how long it stops on SIGTERM; refreshes that wait are left to the next start.",
    ),
)


@click.command(short_help="Keep every table fresh: the refresh manager.")
@_address_options
@options.token_file_option
@options.spark_options
@_work_options
def serve(token_file: Path | None, spark: SparkChoice, **choices: Any) -> None:  # noqa: ANN401 - those of click
    """Keep every table fresh, until SIGTERM or Ctrl-C.

    Starts Spark in this process, with the confs of the dbt profile; `dbt run` in the same project
    then works through it. Serves the status page and the REST interface, on loopback only unless
    there is a token (--token-file, or the environment variable SPARK_MT_TOKEN). A second manager of
    the same catalog is a standby.
    """
    secret = options.token_of(token_file)
    place = options.place_of(spark)
    for module in _PACKAGES:
        if find_spec(module) is None:
            raise conditions.SERVE_MISSING(module=module)
    from dbt.adapters.spark_mt.manager import serve as serving  # noqa: PLC0415 - loads PySpark

    root = logging.getLogger()
    for handler in tuple(root.handlers):
        # Libraries of dbt add a handler of theirs, which would print lines of the log twice.
        if type(handler) is logging.StreamHandler:
            root.removeHandler(handler)
    serve_options = serving.ServeOptions(
        home=place.home,
        log_folder=place.log_folder,
        confs=place.confs,
        catalog=place.catalog,
        token=secret,
        **choices,
    )
    click.get_current_context().exit(
        serving.serve(serve_options, ready=partial(_print_address, serve_options))
    )


def _print_address(serve_options: ServeOptions, ready: Serving) -> None:
    """Print where the manager is; a log in JSON has it in a record."""
    if serve_options.log_format == "json":
        return
    click.echo(f"Keeping tables fresh; the status page is {ready.url}, Ctrl-C stops.", err=True)
    if not serve_options.token:
        click.echo("The token that its buttons ask for: spark-mt token", err=True)


@click.command(short_help="Print the token of the manager.")
@options.spark_options
def token(spark: SparkChoice) -> None:
    """Print the token of the manager that serves the same warehouse on this machine.

    The status page asks for it before it changes anything.
    """
    click.echo(options.token_of_manager(spark))
