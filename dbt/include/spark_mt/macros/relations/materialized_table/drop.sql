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


{#- Whether dbt's incremental continues with the rows of the materialized table before. -#}
{%- macro is_to_be_released() -%}
  {{ return(config.get('file_format') in (none, 'delta') and not should_full_refresh()) }}
{%- endmacro -%}


{#- Release the materialized table for dbt's incremental: rows, files and history stay. -#}
{%- macro release_materialized_table_in_the_way() -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- if existing_relation is none or not existing_relation.is_materialized_table -%}
    {{ return(none) }}
  {%- endif -%}
  {%- if not is_to_be_released() -%}
    {{ return(drop_materialized_table_in_the_way()) }}
  {%- endif -%}
  {%- do adapter.release_materialized_table(existing_relation) -%}
{%- endmacro -%}
