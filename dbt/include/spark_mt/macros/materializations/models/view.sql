{#- dbt's view makes way for tables only. -#}
{% materialization view, adapter='spark_mt' -%}
  {%- do drop_materialized_table_in_the_way() -%}
  {{ return(create_or_replace_view()) }}
{%- endmaterialization %}
