"""Every command of `spark-mt` with its options, read from the commands; docs/cli.md shows them."""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli.main import commands

if TYPE_CHECKING:
    from collections.abc import Iterator


def sections() -> Iterator[tuple[str, str, tuple[tuple[str, str, str], ...]]]:
    """Yield the usage, the explanation and the options of every command.

    An option is described by its names, its default and its meaning.
    """
    for name, command in commands.commands.items():
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        words = " ".join(["spark-mt", name, *map(_argument, arguments), "[OPTIONS]"])
        options = tuple(
            (_names(each), _default(each), each.help or "")
            for each in command.params
            if isinstance(each, click.Option)
        )
        yield words, cleandoc(command.help or ""), options


def _argument(argument: click.Argument) -> str:
    word = str(argument.name).upper()
    return f"[{word}]{'…' if argument.nargs != 1 else ''}"


def _names(option: click.Option) -> str:
    names = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {_value(option)}"


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return " or ".join(f"`{each}`" for each in option.type.choices)
    if option.metavar:
        return option.metavar
    return {"path": "PATH", "directory": "FOLDER", "file": "FILE", "text": "TEXT"}.get(
        option.type.name, "NUMBER"
    )


def _default(option: click.Option) -> str:
    """What holds without the option, where the help does not say it already."""
    if option.is_flag and not option.secondary_opts:
        return ""
    default = option.default
    if option.secondary_opts and isinstance(default, bool):
        return f"`{(option.opts if default else option.secondary_opts)[0]}`"
    return f"`{default}`" if isinstance(default, str | int | float) else ""
