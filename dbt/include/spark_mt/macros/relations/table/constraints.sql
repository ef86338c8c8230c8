{#- The constraints of a contract, on a plain table. dbt-spark adds them when the rows are there, and a
   row that breaks one is there by then. So the query itself refuses such a row first, and the table
   keeps the rows that it had. -#}
{% macro spark_mt__get_select_subquery(sql) %}
  {%- set guard = adapter.constraint_guard(model) if has_table_constraints() -%}
    select {{ adapter.dispatch('get_column_names', 'dbt')() }}
    from (
        {{ sql }}
    ) as model_subq
  {%- if guard %}
    where {{ guard }}
  {%- endif -%}
{%- endmacro %}


{% macro spark_mt__persist_constraints(relation, model) %}
  {%- if has_table_constraints() -%}
    {%- do warn_each(adapter.constraint_warnings(model)) -%}
    {%- for statement_sql in adapter.constraint_statements(relation, model) -%}
      {%- call statement() -%}
        {{ statement_sql }}
      {%- endcall -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{% macro has_table_constraints() -%}
  {{ return(config.get('contract').enforced and config.get('file_format', default='delta') == 'delta') }}
{%- endmacro %}
