{#- The constraints of a contract, on a plain table. dbt-spark adds them when the rows are there, and a
   row that breaks one is there by then. So the query itself refuses such a row first, and the table
   keeps the rows that it had. -#}
{% macro spark_mt__get_select_subquery(sql) %}
  {%- set guard = adapter.constraint_guard(model, config.get('file_format')) -%}
    select {{ adapter.dispatch('get_column_names', 'dbt')() }}
    from (
        {{ sql }}
    ) as model_subq
  {%- if guard %}
    where {{ guard }}
  {%- endif -%}
{%- endmacro %}


{% macro spark_mt__persist_constraints(relation, model) %}
  {%- if config.get('contract').enforced -%}
    {%- set file_format = config.get('file_format') -%}
    {%- do warn_each(adapter.constraint_warnings(model, file_format)) -%}
    {%- for statement_sql in adapter.constraint_statements(relation, model, file_format) -%}
      {%- call statement() -%}
        {{ statement_sql }}
      {%- endcall -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
