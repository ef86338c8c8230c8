{#- The clauses that are more than a keyword and a value. -#}
{%- macro materialized_table_columns(relation, settings, sql) -%}
  {%- set contract = config.get('contract') -%}
  {%- if contract.enforced -%}
    {%- do get_assert_columns_equivalent(sql) -%}
  {%- endif -%}
  {%- set columns = none -%}
  {%- if config.persist_column_docs() and model.columns -%}
    {%- set columns = adapter.materialized_columns(sql) -%}
    {%- do validate_doc_columns(relation, model.columns, columns | map('first') | list) -%}
  {%- endif -%}
  {%- set list = adapter.column_items(model, settings, columns) -%}
  {%- do warn_each(list.warnings) -%}
  {%- if list['items'] -%}
(
  {{ list['items'] | join(',\n  ') }}
)
  {%- endif -%}
{%- endmacro -%}


{%- macro materialized_table_comment() -%}
  {%- if config.persist_relation_docs() and model.description -%}
comment {{ adapter.quote_text(model.description) }}
  {%- endif -%}
{%- endmacro -%}


{%- macro materialized_table_names(clause, names) -%}
  {%- if names -%}
{{ clause }} ({% for name in names %}{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %})
  {%- endif -%}
{%- endmacro -%}


{%- macro materialized_table_options(options) -%}
  {%- if options -%}
with (
    {%- for key, value in options %}
  {{ adapter.quote_text(key) }} = {{ adapter.quote_text(value) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
  {%- endif -%}
{%- endmacro -%}
