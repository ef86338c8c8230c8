{#- dbt run-operation suspend_materialized_tables and the like, for many models at once, in the
   order of their dependencies. `select` as for plan_materialized_tables. -#}
{%- macro suspend_materialized_tables(select=none) -%}
  {%- do report_each(adapter.suspend_models(select)) -%}
{%- endmacro -%}


{%- macro resume_materialized_tables(select=none, run_options=none) -%}
  {%- do report_each(adapter.resume_models(select, run_options)) -%}
{%- endmacro -%}


{%- macro refresh_materialized_tables(select=none, force=false) -%}
  {%- do report_each(adapter.refresh_models(select, force=force)) -%}
{%- endmacro -%}


{#- Tables that this project made and has no model for any more, in the schemas of its models or in
   those that are named; they are only listed unless dry_run is false. -#}
{%- macro drop_orphaned_materialized_tables(dry_run=true, schemas=none) -%}
  {%- do report_each(adapter.drop_orphans(schemas, dry_run=dry_run)) -%}
{%- endmacro -%}


{#- One line for each table as it is done; all failures again at the end. -#}
{%- macro report_each(results) -%}
  {%- set failures = [] -%}
  {%- set done = [] -%}
  {%- for result in results -%}
    {%- do print(result.line) -%}
    {%- do done.append(result) -%}
    {%- if result.failed -%}{%- do failures.append(result.line) -%}{%- endif -%}
  {%- endfor -%}
  {%- do print(done | length ~ (' table, ' if done | length == 1 else ' tables, ') ~ failures | length ~ ' failed') -%}
  {%- do adapter.fail_operation(failures) -%}
{%- endmacro -%}
