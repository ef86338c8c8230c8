"""Choice of the strategy that keeps a table, and of the one that a refresh uses.

The planner plans with the choice. EXPLAIN, DESC EXTENDED, `plan`, the commits, the status page,
REST and the metrics print it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.strategies.changed_rows import ADDING, MERGING
from dbt.adapters.spark_mt.strategies.differential import DERIVING
from dbt.adapters.spark_mt.strategies.strategy import (
    APPEND,
    INCREMENTAL,
    NONE,
    STREAM,
    Choice,
    RefreshInputs,
    Refusal,
    Request,
    TableFacts,
    Write,
)
from dbt.adapters.spark_mt.strategies.stream import STREAMING
from dbt.adapters.spark_mt.strategies.whole_table import RECOMPUTING, SINCE_START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Baseline
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.strategies.strategy import Strategy


STRATEGIES = (STREAMING, ADDING, MERGING, SINCE_START, DERIVING, RECOMPUTING)
"""Every strategy, the preferred one first."""


KEEP = RefreshInputs(Request.KEEP)


def choose(
    definition: ResolvedDefinition,
    analyzed: AnalyzedQuery,
    baseline: Baseline | None = None,
    inputs: RefreshInputs = KEEP,
    excluded: Sequence[Refusal] = (),
) -> Choice:
    """Return how the rows of a table are computed: in general, or by one refresh.

    Args:
        definition: The table as wanted, or as it is stored.
        analyzed: Its query as the engine sees it now.
        baseline: From where it counts its sources; None where all rows count.
        inputs: What is asked for; by default how the table is kept. For a refresh also positions
            and changes.
        excluded: Strategies that the caller has found not to work.

    Returns:
        The preferred strategy of those that are possible, or that the refresh can use. Its
        strategy is `none`, with the reasons of the refusals, where there is none.
    """
    table = TableFacts(definition, analyzed, baseline)
    refused: list[Refusal] = []
    offers: list[tuple[Strategy, Choice]] = []
    for strategy in STRATEGIES:
        answer = strategy.possible(table)
        if isinstance(answer, Refusal):
            refused.append(answer)
        else:
            offers.append((strategy, answer))
    names = tuple(strategy.name for strategy, _ in offers)
    out = {refusal.strategy for refusal in excluded}
    left = [(strategy, own) for strategy, own in offers if strategy.name not in out]
    not_used: tuple[Refusal, ...] = ()
    if inputs.request is Request.KEEP:
        chosen = left[0][1] if left else _none(_of_changes(refused))
    else:
        chosen, not_used = _for_refresh(table, left, inputs)
        if chosen.strategy == NONE and not chosen.reasons:
            chosen = _none(_of_changes(refused) or not_used)
        if offers and chosen.write is Write.REPLACE:
            chosen = _by_stream(offers[0][1], chosen)
    before = (*not_used, *excluded, *refused)
    reasons = chosen.reasons or next((refusal.reasons for refusal in before), ())
    costs = tuple(inputs.costs.items())
    cost = inputs.costs.get(chosen.strategy)
    return replace(chosen, reasons=reasons, possible=names, refused=before, cost=cost, costs=costs)


def _for_refresh(
    table: TableFacts, offers: Sequence[tuple[Strategy, Choice]], inputs: RefreshInputs
) -> tuple[Choice, tuple[Refusal, ...]]:
    """Return what a refresh uses, and what it cannot use, the last refusal first.

    A host needs to know only whether a stream can run: a refresh chooses again otherwise.
    """
    refused: list[Refusal] = []
    for strategy, own in offers:
        if inputs.request is Request.HOST and strategy.name != STREAM:
            return own, tuple(reversed(refused))
        answer = strategy.usable(table, own, replace(inputs, refused=tuple(refused)))
        if isinstance(answer, Choice):
            return answer, tuple(reversed(refused))
        refused.append(answer)
        if answer.is_final:
            return _none([answer]), tuple(reversed(refused))
    return _none(()), tuple(reversed(refused))


def _of_changes(refused: Sequence[Refusal]) -> list[Refusal]:
    """Return why a query cannot be applied to changes, whatever the table keeps."""
    return [refusal for refusal in refused if refusal.strategy == APPEND]


def _none(refused: Sequence[Refusal]) -> Choice:
    """Return that no strategy keeps the table: why its changes cannot be applied."""
    reasons = [reason for refusal in refused for reason in refusal.reasons]
    return Choice(INCREMENTAL, NONE, tuple(dict.fromkeys(reasons)), Write.NONE)


def _by_stream(kept: Choice, choice: Choice) -> Choice:
    """Return a choice that computes all rows: by the stream whose checkpoint begins with them."""
    if not kept.keeps_checkpoint:
        return choice
    return replace(
        kept,
        strategy=choice.strategy,
        reasons=choice.reasons,
        write=choice.write,
        since=choice.since,
    )
