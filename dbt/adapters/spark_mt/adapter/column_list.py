"""Column list of a model's table, from its contract or its descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote, quote_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
        model: The model as Jinja has it, with `columns` and `constraints`.
        key: The primary key of its config; empty where a contract may name it.
        columns: Name and type of the query's columns if descriptions become comments, else None.
    """
    if model["config"]["contract"]["enforced"]:
        return contract_items(model, key, comments=columns is not None)
    return documented_items(columns or [], model["columns"] if columns else {}, key)


def contract_items(model: Mapping[str, Any], key: Sequence[str], *, comments: bool) -> Items:
    """The items for a model with an enforced contract; arguments as for `column_items`."""
    items, constraints = [], [dict(each) for each in model.get("constraints", ())]
    for column in model["columns"].values():
        own = column.get("constraints", ())
        constraints += [{**each, "columns": [column["name"]]} for each in own]
        not_null = " NOT NULL" if any(each["type"] == "not_null" for each in own) else ""
        comment = _comment(column.get("description")) if comments else ""
        items.append(f"{quote(column['name'])} {column['data_type']}{not_null}{comment}")
    named = next((each.get("columns") for each in constraints if each["type"] == "primary_key"), ())
    items += _key_item(key or named or ())
    for each in constraints:
        if each["type"] == "check":
            name = f"CONSTRAINT {quote(each['name'])} " if each.get("name") else ""
            items.append(f"{name}CHECK ({each['expression']})")
    warnings = (
        f"constraint {each['type']} ({', '.join(each.get('columns', ()))}): "
        "no materialized table has it."
        for each in constraints
        if each["type"] in _NOT_RENDERED and each.get("warn_unsupported", True)
    )
    return Items(tuple(items), tuple(warnings))


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
        return Items(_key_item(key))
    described = (f"{quote(n)} {t}{_comment(by_name.get(n.lower()))}" for n, t in columns)
    return Items((*described, *_key_item(key)))


def _comment(text: str | None) -> str:
    return f" COMMENT {quote_text(text)}" if text else ""


def _key_item(columns: Sequence[str]) -> tuple[str, ...]:
    listed = ", ".join(map(quote, columns))
    return (f"PRIMARY KEY ({listed}) NOT ENFORCED",) if listed else ()
