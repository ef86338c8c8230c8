"""Functions of Spark by what they mean for the result of a query."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


RANDOM = _names(
    "current_user input_file_block_length input_file_block_start input_file_name java_method "
    "monotonically_increasing_id rand randn random randstr reflect session_user shuffle "
    "spark_partition_id try_reflect uniform user uuid"
)
"""Functions with another value for the same row each time, or in each session."""

ORDER_DEPENDENT = _names(
    "any_value array_agg collect_list collect_set first first_value last last_value listagg "
    "string_agg"
)
"""Aggregates whose value depends on the order in which rows arrive, unless an order is given."""

ORDER_FREE = _names(
    "array_contains array_max array_min array_size array_sort cardinality size sort_array"
)
"""Functions to which the order of an array does not matter."""

AGGREGATES = _names(
    "any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate "
    "approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg "
    "bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count "
    "count_if count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id "
    "histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double "
    "kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float "
    "kurtosis last last_value listagg max max_by mean measure median min min_by mode percentile "
    "percentile_approx percentile_cont percentile_disc product regr_avgx regr_avgy regr_count "
    "regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_json_agg "
    "schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum "
    "theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_mode try_sum "
    "tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double "
    "tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp "
    "variance vector_avg vector_sum"
)
"""Functions that combine rows, those of Spark 4.2 and those that its plans print."""

GENERATORS = frozenset(
    {"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"}
    | {"stack", "json_tuple", "variant_explode", "variant_explode_outer"}
)
"""Functions that make several rows of one."""

TIME_DEPENDENT = _names("curdate current_date current_time current_timestamp localtimestamp now")
"""Functions with one value per execution of a query."""

WITHOUT_PARENTHESES = _names(
    "current_date current_time current_timestamp current_user localtimestamp session_user user"
)


def is_aggregate(name: str) -> bool:
    """Return whether Spark's function of this name combines rows."""
    return name.lower() in AGGREGATES
