{#- dbt-spark's macro returns the rows of DESCRIBE where dbt's snapshots expect columns. -#}
{% macro spark_mt__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}
