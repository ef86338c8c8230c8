{#- The statements that define a materialized table; `settings` are its validated config.

   `decision` is what `adapter.decide_materialization` returns: which statement, for which relation. -#}
{%- macro materialized_table_statement(decision, settings, sql) -%}
  {%- if decision.replaces -%}
    {{ create_or_replace_materialized_table(decision.target, settings, sql) }}
  {%- else -%}
    {{ create_or_alter_materialized_table(decision.target, settings, sql) }}
  {%- endif -%}
{%- endmacro -%}


{%- macro create_or_alter_materialized_table(relation, settings, sql) -%}
create or alter materialized table {{ adapter.full_name(relation) }}
{{ materialized_table_definition(relation, settings, sql) }}
{%- endmacro -%}


{%- macro create_or_replace_materialized_table(relation, settings, sql) -%}
create or replace materialized table {{ adapter.full_name(relation) }}
{{ materialized_table_definition(relation, settings, sql) }}
{%- endmacro -%}


{%- macro materialized_table_definition(relation, settings, sql) -%}
{%- set clauses = [
  materialized_table_columns(relation, settings, sql),
  materialized_table_comment(),
  materialized_table_names('partitioned by', settings.partitioned_by),
  materialized_table_names('cluster by', settings.clustered_by),
  materialized_table_options(settings.options),
] -%}
{%- for keyword, value in settings.clauses -%}
  {%- do clauses.append(keyword ~ ' = ' ~ value) -%}
{%- endfor -%}
{%- for clause in clauses | map('trim') | select -%}
{{ clause }}
{% endfor -%}
as
{{ sql | trim }}
{%- endmacro -%}
