"""The names of aggregate functions."""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_AGGREGATES = frozenset(
    {"any", "every", "some", "collect_set", "bit_xor", "first_value", "last_value", "skewness"}
    | {"histogram_numeric", "try_sum", "try_avg", "bitmap_construct_agg", "bitmap_or_agg"}
    | {"bitmap_and_agg", "count_min_sketch", "hll_sketch_agg", "hll_union_agg", "percentile"}
    | {"try_mode", "mode", "regr_sxx", "regr_sxy", "regr_syy", "regr_count", "count_if", "product"}
    | {"theta_sketch_agg", "theta_union_agg", "theta_intersection_agg", "schema_of_json_agg"}
    | {"kll_sketch_agg_bigint", "kll_sketch_agg_float", "kll_sketch_agg_double", "measure"}
    | {
        "approx_top_k",
        "approx_top_k_accumulate",
        "approx_top_k_combine",
        "vector_sum",
        "vector_avg",
    }
)
"""Aggregates of Spark that sqlglot takes for a function it does not know."""


@cache
def is_aggregate(name: str) -> bool:
    """Whether a function of this name combines rows, as far as its name is known.

    Spark's plans call some by names that SQL has as well (`bool_or`, `any`).
    """
    if name.lower() in _AGGREGATES:
        return True
    return any(_combines(f"{name}({arguments})") for arguments in ("a", "a, b"))


def _combines(call: str) -> bool:
    try:
        return isinstance(sqlglot.parse_one(call, read="spark"), exp.AggFunc)
    except SqlglotError:
        return False
