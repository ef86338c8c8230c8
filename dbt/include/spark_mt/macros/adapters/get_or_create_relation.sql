{#- dbt-spark's snapshots ask without a catalog; the node knows its own. -#}
{% macro spark_mt__get_or_create_relation(database, schema, identifier, type) %}
  {{ return(default__get_or_create_relation(database or model.database, schema, identifier, type)) }}
{% endmacro %}
