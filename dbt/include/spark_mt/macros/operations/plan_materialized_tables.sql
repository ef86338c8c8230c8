{#- dbt run-operation plan_materialized_tables: what `dbt run` would do; it changes nothing.

   select: names with *, tag:<tag>; all by default. output: text, or json for one JSON document.
   fail_on: refused, rebuilt (or refused), any (change); by default the operation succeeds. -#}
{%- macro plan_materialized_tables(select=none, full_refresh=false, output='text', fail_on=none) -%}
  {%- if output not in ['text', 'json'] -%}
    {%- do exceptions.raise_compiler_error("output is '" ~ output ~ "'; it can be text or json.") -%}
  {%- endif -%}
  {%- set report = adapter.plan_materialized_tables(select, full_refresh=full_refresh) -%}
  {%- set failures = adapter.failures_of_plan(report, fail_on) -%}
  {%- do print(report.json() if output == 'json' else report.text()) -%}
  {%- do adapter.fail_operation(failures) -%}
{%- endmacro -%}
