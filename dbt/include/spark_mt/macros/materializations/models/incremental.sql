{#- dbt-spark's incremental would merge into whatever is there. What it returns has no type. -#}
{% materialization incremental, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- do drop_materialized_table_in_the_way() -%}
  {%- do materialization_incremental_spark() -%}
  {{ return({'relations': [this.incorporate(type='table')]}) }}
{% endmaterialization %}
