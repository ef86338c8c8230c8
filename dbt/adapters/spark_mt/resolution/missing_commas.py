"""Where a comma that is missing turned a column into another one's name (slip of seed 435)."""

from __future__ import annotations

from sqlglot import exp

from dbt.adapters.spark_mt.resolution.query_tokens import parse


def missing_comma(query: str, column: str) -> str:
    """Return ` A comma may be missing …`, or an empty text.

    `SELECT ds id` is valid, and names the column `ds` `id`: who misses the column `ds` has
    probably forgotten the comma between the two.

    Args:
        query: The query's text.
        column: A column that was expected in its result, and is not there.
    """
    tree = parse(query)
    for item in tree.selects if isinstance(tree, exp.Query) else ():
        if not isinstance(item, exp.Alias) or item.this.name.lower() != column.lower():
            continue
        named = item.this.this if isinstance(item.this, exp.Column) else None
        start = named.meta.get("end") if isinstance(named, exp.Identifier) else None
        end = item.args["alias"].meta.get("start")
        if start is not None and end is not None and not query[start + 1 : end].strip():
            written = query[named.meta["start"] : start + 1] if named else column
            return f" A comma may be missing in the query: {written}, {item.alias}."
    return ""
