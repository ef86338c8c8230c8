{#- `dbt show` limits a query; statements about materialized tables take no LIMIT. -#}
{%- macro spark_mt__get_limit_sql(sql, limit) -%}
  {{ sql }}
  {%- if limit is not none and not adapter.is_materialized_table_statement(sql) %}
  limit {{ limit }}
  {%- endif -%}
{%- endmacro -%}
