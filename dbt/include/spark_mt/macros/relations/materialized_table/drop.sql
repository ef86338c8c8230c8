{%- macro drop_materialized_table(relation) -%}
  drop materialized table if exists {{ adapter.full_name(relation) }}
{%- endmacro -%}


{#- A model is of another materialization now. Its query is analysed before anything is dropped,
   unless a hook may have to run first. -#}
{%- macro drop_materialized_table_in_the_way() -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- if existing_relation is not none and existing_relation.is_materialized_table -%}
    {%- if model.language == 'sql' and not pre_hooks -%}
      {%- do adapter.query_columns(compiled_code) -%}
    {%- endif -%}
    {%- do drop_relation_if_exists(existing_relation) -%}
  {%- endif -%}
{%- endmacro -%}
