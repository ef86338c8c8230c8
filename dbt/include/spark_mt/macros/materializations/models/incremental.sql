{#- dbt-spark's incremental would merge into whatever is there; a materialized table has to go.
   What it returns to dbt's cache has no type. -#}
{% materialization incremental, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- set existing_relation = load_relation(this) -%}
  {%- if existing_relation is not none and existing_relation.is_materialized_table -%}
    {%- do drop_relation_if_exists(existing_relation) -%}
  {%- endif -%}
  {%- do materialization_incremental_spark() -%}
  {{ return({'relations': [this.incorporate(type='table')]}) }}
{% endmaterialization %}
