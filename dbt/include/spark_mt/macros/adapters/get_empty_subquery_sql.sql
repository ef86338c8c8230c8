{#- The statements of `sql_header` have run before the model: Spark takes one statement at a time. -#}
{% macro spark_mt__get_empty_subquery_sql(select_sql, select_sql_header=none) %}
  {{ return(default__get_empty_subquery_sql(select_sql, adapter.header_of_query(select_sql_header))) }}
{% endmacro %}
