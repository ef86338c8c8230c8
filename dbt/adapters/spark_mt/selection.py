"""Which models an operation is about, in the order of their dependencies. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.resolution.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName

MATERIALIZED_TABLE = "materialized_table"
_TAG = "tag:"


class UnknownModelError(MaterializedTableError):
    """`select` names something that is no model of the project."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_MODEL"
    text = "`select` does not fit the project's models of materialization materialized_table:"
    remedy = (
        "Name models as a text or a list, with * for any characters, or tag:<tag>. Nothing was "
        "changed."
    )


@dataclass(frozen=True, slots=True)
class ModelNode:
    """A node of a dbt project that makes a relation.

    Args:
        unique_id: `model.<project>.<name>`.
        relation: The table or view that it makes; an ephemeral model makes none.
        materialized: Its materialization.
    """

    unique_id: str
    name: str
    materialized: str
    relation: TableName
    tags: tuple[str, ...] = ()

    @property
    def is_materialized_table(self) -> bool:
        """Whether operations on materialized tables are about it."""
        return self.materialized == MATERIALIZED_TABLE


def select_models(models: Iterable[ModelNode], select: object) -> tuple[ModelNode, ...]:
    """Return the models of materialized tables that `select` names, in the given order.

    Args:
        models: All models.
        select: What the user gave: None for all, names in one text or as a list, with `*`, or
            `tag:<tag>`.

    Raises:
        UnknownModelError: Some name or tag fits no model; all of them are listed.
    """
    models = tuple(models)
    candidates = tuple(model for model in models if model.is_materialized_table)
    if select is None:
        return candidates
    wanted = _words(select)
    unknown = [word for word in wanted if not any(_fits(model, word) for model in candidates)]
    if unknown or not wanted:
        problems = [_problem(word, models) for word in unknown] or ["it is empty"]
        raise UnknownModelError(violations=problems)
    return tuple(model for model in candidates if any(_fits(model, word) for word in wanted))


def dependency_order(parents: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return all ids such that parents come before their children; alphabetical where free.

    Args:
        parents: The ids that each id depends on.
    """
    sorter = TopologicalSorter({child: sorted(parents[child]) for child in sorted(parents)})
    return tuple(sorter.static_order())


def _words(select: object) -> Sequence[str]:
    if isinstance(select, str):
        return select.replace(",", " ").split()
    if isinstance(select, list | tuple) and all(isinstance(word, str) for word in select):
        return [word.strip() for word in select if word.strip()]
    raise UnknownModelError(violations=[f"it is neither a text nor a list of texts: {select!r}"])


def _fits(model: ModelNode, word: str) -> bool:
    if word.startswith(_TAG):
        return any(fnmatchcase(tag, word.removeprefix(_TAG)) for tag in model.tags)
    return fnmatchcase(model.name, word) or model.unique_id == word


def _problem(word: str, models: Sequence[ModelNode]) -> str:
    candidates = [model for model in models if model.is_materialized_table]
    if word.startswith(_TAG):
        tags = {tag for model in candidates for tag in model.tags}
        known = (_TAG + tag for tag in tags)
        return f"no such model is tagged {word.removeprefix(_TAG)}.{did_you_mean(word, known)}"
    other = next((model for model in models if model.name == word), None)
    if other is not None:
        return f"the model {word} is of materialization {other.materialized}."
    return f"there is no model {word}.{did_you_mean(word, (m.name for m in candidates))}"
