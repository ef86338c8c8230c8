{#- A view cannot replace a table: it is dropped, when the query is known to be valid. -#}
{% materialization view, adapter='spark_mt', supported_languages=['sql', 'python'] -%}
  {%- do adapter.require_sql(model, 'view') -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- if existing_relation is not none and not existing_relation.is_view -%}
    {#- a hook may have to run first -#}
    {%- if not pre_hooks -%}
      {%- do adapter.query_columns(compiled_code) -%}
    {%- endif -%}
    {%- if existing_relation.is_materialized_table -%}
      {%- do drop_relation_if_exists(existing_relation) -%}
    {%- endif -%}
  {%- endif -%}
  {{ return(create_or_replace_view()) }}
{%- endmaterialization %}
