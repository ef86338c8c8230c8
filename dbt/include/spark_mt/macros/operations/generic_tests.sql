{#- Tests for models of materialization materialized_table, in a model's data_tests. They fail with
   one row for each problem; `failures` is how many it counts for. -#}

{#- It lags its sources by no more than `within` ("10 minutes"), by default its freshness. -#}
{% test materialized_table_fresh(model, within=none) %}
  {{ config(fail_calc='coalesce(sum(failures), 0)') }}
  {{ adapter.stale_rows_sql(model, within) if execute }}
{% endtest %}


{#- Its rows are those of its query over the state of the sources that they reflect. -#}
{% test materialized_table_equals_query(model, show=100) %}
  {{ config(fail_calc='coalesce(sum(failures), 0)') }}
  {{ adapter.differing_rows_sql(model, show) if execute }}
{% endtest %}


{#- It is active, nothing was changed about it outside of dbt that readers see, no statement is
   unfinished, and its last refresh has not failed. -#}
{% test materialized_table_healthy(model) %}
  {{ config(fail_calc='coalesce(sum(failures), 0)') }}
  {{ adapter.unhealthy_rows_sql(model) if execute }}
{% endtest %}
