{#- dbt-spark's table. -#}
{% materialization table, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- do drop_materialized_table_in_the_way() -%}
  {{ return(materialization_table_spark()) }}
{% endmaterialization %}
