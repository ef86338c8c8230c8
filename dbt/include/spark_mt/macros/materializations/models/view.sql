{#- dbt's view is dropped for tables only. -#}
{% materialization view, adapter='spark_mt', supported_languages=['sql', 'python'] -%}
  {%- do adapter.require_sql(model, 'view') -%}
  {%- do drop_materialized_table_in_the_way() -%}
  {{ return(create_or_replace_view()) }}
{%- endmaterialization %}
