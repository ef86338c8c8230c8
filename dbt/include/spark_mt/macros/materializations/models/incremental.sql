{#- dbt-spark's incremental would merge into whatever is there; a materialized table has to go. -#}
{% materialization incremental, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- set existing_relation = load_relation(this) -%}
  {%- if existing_relation is not none and existing_relation.is_materialized_table -%}
    {%- do drop_relation_if_exists(existing_relation) -%}
  {%- endif -%}
  {{ return(materialization_incremental_spark()) }}
{% endmaterialization %}
