{#- dbt-spark would add the helper columns of a composite unique key to the snapshot. -#}
{% macro spark_mt__create_columns(relation, columns) %}
  {%- set wanted = [] -%}
  {%- for column in columns if not column.name.lower().startswith('dbt_unique_key') -%}
    {%- do wanted.append(column) -%}
  {%- endfor -%}
  {{ return(spark__create_columns(relation, wanted)) }}
{% endmacro %}
