{#- A table of another format is dropped, created and filled, as dbt-spark does it. -#}
{%- macro write_seed_of_other_format(existing_relation, agate_table, full_refresh) -%}
  {%- if existing_relation is none -%}
    {%- set sql = create_csv_table(model, agate_table) -%}
  {%- else -%}
    {%- set sql = reset_csv_table(model, full_refresh, existing_relation, agate_table) -%}
  {%- endif -%}
  {%- set rows = agate_table.rows | length -%}
  {%- set insert_sql = load_csv_rows(model, agate_table) if rows else '' -%}
  {%- set code = 'CREATE' if full_refresh else 'INSERT' -%}
  {%- call noop_statement('main', code ~ ' ' ~ rows, code, rows) -%}
    {{ get_csv_sql(sql, insert_sql) }};
  {%- endcall -%}
{%- endmacro -%}
