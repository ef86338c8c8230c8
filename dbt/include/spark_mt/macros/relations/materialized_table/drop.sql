{%- macro drop_materialized_table(relation) -%}
  drop materialized table if exists {{ adapter.full_name(relation) }}
{%- endmacro -%}
