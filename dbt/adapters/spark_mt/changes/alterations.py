"""What an ALTER statement makes of the definition that the user asked for (semantics 2, 6)."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.statements.nodes import (
    AlterQuery,
    ResetOptions,
    SetComment,
    SetFreshness,
    SetOptions,
    SetRefreshMode,
)

ClauseAlteration = SetFreshness | SetRefreshMode | SetOptions | ResetOptions | SetComment
"""The statements that leave the query alone."""


@singledispatch
def altered(statement: object, asked: AskedDefinition) -> AskedDefinition:
    """Return `asked` with the clause that `statement` names changed.

    Args:
        statement: A `ClauseAlteration` or an `AlterQuery`.
        asked: The definition as it was asked for so far.
    """
    raise TypeError(statement, asked)


@altered.register
def _(statement: SetFreshness, asked: AskedDefinition) -> AskedDefinition:
    return replace(asked, freshness=statement.freshness)


@altered.register
def _(statement: SetRefreshMode, asked: AskedDefinition) -> AskedDefinition:
    return replace(asked, refresh_mode=statement.refresh_mode)


@altered.register
def _(statement: SetOptions, asked: AskedDefinition) -> AskedDefinition:
    """A key that is there keeps its place."""
    wanted = dict(statement.options)
    kept = tuple((key, wanted.get(key, value)) for key, value in asked.options)
    there = {key for key, _ in asked.options}
    return replace(asked, options=kept + tuple(o for o in statement.options if o[0] not in there))


@altered.register
def _(statement: ResetOptions, asked: AskedDefinition) -> AskedDefinition:
    kept = tuple((key, value) for key, value in asked.options if key not in statement.keys)
    return replace(asked, options=kept)


@altered.register
def _(statement: SetComment, asked: AskedDefinition) -> AskedDefinition:
    return replace(asked, comment=statement.comment)


@altered.register
def _(statement: AlterQuery, asked: AskedDefinition) -> AskedDefinition:
    """A start mode or state retention that is left out stays as it was."""
    return replace(
        asked,
        query=statement.query,
        start_mode=statement.start_mode or asked.start_mode,
        state_retention=statement.state_retention or asked.state_retention,
    )
