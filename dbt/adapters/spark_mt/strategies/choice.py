"""Choice of the strategy that keeps a table, and of the one that a refresh uses.

The planner plans with the choice. EXPLAIN, DESC EXTENDED, `plan`, the commits, the status page,
REST and the metrics print it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.strategies import strategy
from dbt.adapters.spark_mt.strategies.changed_rows import ADDING, MERGING
from dbt.adapters.spark_mt.strategies.differential import DERIVING
from dbt.adapters.spark_mt.strategies.stream import STREAMING
from dbt.adapters.spark_mt.strategies.table_facts import TableFacts
from dbt.adapters.spark_mt.strategies.whole_table import RECOMPUTING, SINCE_START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Baseline
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.resolution.resolver import Resolution
    from dbt.adapters.spark_mt.strategies.strategy import Strategy


STRATEGIES = (STREAMING, ADDING, MERGING, SINCE_START, DERIVING, RECOMPUTING)
"""Every strategy, the preferred one first."""


KEEP = strategy.RefreshInputs(strategy.Request.KEEP)


def choose(
    definition: ResolvedDefinition,
    analyzed: AnalyzedQuery,
    baseline: Baseline | None = None,
    inputs: strategy.RefreshInputs = KEEP,
    excluded: Sequence[strategy.Refusal] = (),
) -> strategy.Choice:
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
    refused: list[strategy.Refusal] = []
    offers: list[tuple[Strategy, strategy.Choice]] = []
    for candidate in STRATEGIES:
        answer = candidate.possible(table)
        if isinstance(answer, strategy.Refusal):
            refused.append(answer)
        else:
            offers.append((candidate, answer))
    names = tuple(candidate.name for candidate, _ in offers)
    out = {refusal.strategy for refusal in excluded}
    left = [(candidate, own) for candidate, own in offers if candidate.name not in out]
    not_used: tuple[strategy.Refusal, ...] = ()
    if inputs.request is strategy.Request.KEEP:
        chosen = left[0][1] if left else _none(_of_changes(refused))
    else:
        chosen, not_used = _for_refresh(table, left, inputs)
        if chosen.strategy == strategy.NONE and not chosen.reasons:
            chosen = _none(_of_changes(refused) or not_used)
        if offers and chosen.write is strategy.Write.REPLACE:
            chosen = _by_stream(offers[0][1], chosen)
    before = (*not_used, *excluded, *refused)
    reasons = chosen.reasons or next((refusal.reasons for refusal in before), ())
    costs = tuple(inputs.costs.items())
    cost = inputs.costs.get(chosen.strategy)
    return replace(chosen, reasons=reasons, possible=names, refused=before, cost=cost, costs=costs)


def choose_for(resolution: Resolution, baseline: Baseline | None = None) -> strategy.Choice:
    """Return how the rows of a table with a definition that was just resolved are computed."""
    return choose(resolution.definition, resolution.analyzed, baseline)


def _for_refresh(
    table: TableFacts,
    offers: Sequence[tuple[Strategy, strategy.Choice]],
    inputs: strategy.RefreshInputs,
) -> tuple[strategy.Choice, tuple[strategy.Refusal, ...]]:
    """Return what a refresh uses, and what it cannot use, the last refusal first.

    A host needs to know only whether a stream can run: a refresh chooses again otherwise.
    """
    refused: list[strategy.Refusal] = []
    for candidate, own in offers:
        if inputs.request is strategy.Request.HOST and candidate.name != strategy.STREAM:
            return own, tuple(reversed(refused))
        answer = candidate.usable(table, own, replace(inputs, refused=tuple(refused)))
        if isinstance(answer, strategy.Choice):
            return answer, tuple(reversed(refused))
        refused.append(answer)
        if answer.is_final:
            return _none([answer]), tuple(reversed(refused))
    return _none(()), tuple(reversed(refused))


def _of_changes(refused: Sequence[strategy.Refusal]) -> list[strategy.Refusal]:
    """Return why a query cannot be applied to changes, whatever the table keeps."""
    return [refusal for refusal in refused if refusal.strategy == strategy.APPEND]


def _none(refused: Sequence[strategy.Refusal]) -> strategy.Choice:
    """Return that no strategy keeps the table: why its changes cannot be applied."""
    reasons = [reason for refusal in refused for reason in refusal.reasons]
    return strategy.Choice(
        strategy.INCREMENTAL, strategy.NONE, tuple(dict.fromkeys(reasons)), strategy.Write.NONE
    )


def _by_stream(kept: strategy.Choice, choice: strategy.Choice) -> strategy.Choice:
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
