{#- The statement that creates a seed's table, up to its AS. -#}
{%- macro create_seed_sql(relation) -%}
  create or replace table {{ relation }}
  {{ file_format_clause() }}
  {{ tblproperties_clause() }}
  {{ partition_cols(label='partitioned by') }}
  {{ clustered_cols(label='clustered by') }}
  {{ location_clause() }}
  {{ materialized_table_comment() }}
{%- endmacro -%}
