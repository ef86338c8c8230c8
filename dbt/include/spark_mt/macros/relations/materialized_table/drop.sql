{%- macro drop_materialized_table(relation) -%}
  drop materialized table if exists {{ adapter.full_name(relation) }}
{%- endmacro -%}


{#- Whether dbt's incremental continues with the rows of the materialized table before. -#}
{%- macro is_to_be_released() -%}
  {{ return(adapter.is_replaced_in_place(config.get('file_format')) and not should_full_refresh()) }}
{%- endmacro -%}


{#- Release the materialized table for dbt's incremental: rows, files and history stay. -#}
{%- macro release_materialized_table_in_the_way() -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- if existing_relation is not none and existing_relation.is_materialized_table and is_to_be_released() -%}
    {%- do adapter.release_materialized_table(existing_relation) -%}
  {%- endif -%}
{%- endmacro -%}
