"""A model as dbt parsed it: its validated config and the items of its column list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.adapter.config import ModelSettings, validate_config
from dbt.adapters.spark_mt.definition.columns import quote, quote_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


def settings_of(node: Any, project_models: Mapping[str, Any]) -> ModelSettings:  # noqa: ANN401 - dbt-core's node
    """Validate the config of a model.

    Args:
        node: The parsed model.
        project_models: What `dbt_project.yml` says under `models`.

    Raises:
        InvalidConfigError: With every violation.
    """
    written = node.unrendered_config
    values = {key: _value(node, key, written[key]) for key in written}
    values["freshness_interval"] = node.config.get("freshness_interval")
    inherited = dict(inherited_config(project_models, node.fqn))
    own = {key for key in values if key not in inherited or inherited[key] != values[key]}
    return validate_config(node.name, values, own)


def inherited_config(models: Mapping[str, Any], fqn: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The keys that a project sets for a model, outermost level first.

    Args:
        models: The `models` of a `dbt_project.yml`: nested folders, keys with or without a plus.
        fqn: The model's project, folders and name.
    """
    level: Any = models
    for folder in ("", *fqn):
        level = level if not folder else level.get(folder)
        if not isinstance(level, dict):
            return
        for key, value in level.items():
            if key.startswith("+") or not isinstance(value, dict):
                yield key.removeprefix("+").strip(), value


def _value(node: Any, key: str, written: object) -> object:  # noqa: ANN401
    """The rendered value.

    `freshness` arrives as `freshness_interval` (`SparkMTCredentials.translate_aliases`). If it does
    not, dbt dropped a value that is no interval, and the written value is validated.
    """
    if key == "freshness":
        return written if node.config.get("freshness_interval") is None else None
    return node.config.get(key)


_NOT_RENDERED = ("unique", "foreign_key", "custom")


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a column list, and what could not be put into it."""

    items: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def column_items(
    model: Mapping[str, Any], key: Sequence[str], columns: Sequence[tuple[str, str]] | None
) -> Items:
    """The items of a model's column list.

    Args:
        model: The model as Jinja has it.
        key: The primary key of its config.
        columns: Name and type of the query's columns if descriptions become comments, else None.
    """
    if model["config"]["contract"]["enforced"]:
        return contract_items(model, key, comments=columns is not None)
    return documented_items(columns or [], model["columns"] if columns else {}, key)


def contract_items(model: Mapping[str, Any], key: Sequence[str], *, comments: bool) -> Items:
    """The items for a model with an enforced contract.

    Args:
        model: The model as Jinja has it, with `columns` and `constraints`.
        key: The primary key of the config, empty where the contract names it.
        comments: Whether descriptions become column comments.
    """
    columns = model["columns"]
    items = [_column(column, comments=comments) for column in columns.values()]
    constraints = list(_constraints(model))
    named = next((c.get("columns") for c in constraints if c["type"] == "primary_key"), ())
    items += _key(key or named or ())
    items += [_check(c) for c in constraints if c["type"] == "check"]
    return Items(tuple(items), tuple(_warnings(constraints)))


def documented_items(
    columns: Sequence[tuple[str, str]], docs: Mapping[str, Any], key: Sequence[str]
) -> Items:
    """The items for a model without contract.

    Args:
        columns: Name and type of the query's columns, in their order.
        docs: The model's documented columns; where there are none, the columns need no items.
        key: The primary key.
    """
    by_name = {name.lower(): column.get("description") for name, column in docs.items()}
    if not any(by_name.values()):
        return Items(_key(key))
    described = (f"{quote(n)} {t}{_comment(by_name.get(n.lower()))}" for n, t in columns)
    return Items((*described, *_key(key)))


def _column(column: Mapping[str, Any], *, comments: bool) -> str:
    kinds = {constraint["type"] for constraint in column.get("constraints", ())}
    not_null = " NOT NULL" if "not_null" in kinds else ""
    comment = _comment(column.get("description")) if comments else ""
    return f"{quote(column['name'])} {column['data_type']}{not_null}{comment}"


def _comment(text: str | None) -> str:
    return f" COMMENT {quote_text(text)}" if text else ""


def _constraints(model: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The constraints of the model and of its columns, the latter with their column's name."""
    yield from (dict(constraint) for constraint in model.get("constraints", ()))
    for column in model["columns"].values():
        for constraint in column.get("constraints", ()):
            yield {**constraint, "columns": [column["name"]]}


def _key(columns: Collection[str]) -> tuple[str, ...]:
    listed = ", ".join(quote(column) for column in columns)
    return (f"PRIMARY KEY ({listed}) NOT ENFORCED",) if listed else ()


def _check(constraint: Mapping[str, Any]) -> str:
    name = f"CONSTRAINT {quote(constraint['name'])} " if constraint.get("name") else ""
    return f"{name}CHECK ({constraint['expression']})"


def _warnings(constraints: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for constraint in constraints:
        if constraint["type"] in _NOT_RENDERED and constraint.get("warn_unsupported", True):
            listed = ", ".join(constraint.get("columns", ()))
            yield f"constraint {constraint['type']} ({listed}): no materialized table has it."
