{#- The statement that defines a materialized table; `settings` are its validated config.

   `decision` is what `adapter.decide_materialization` returns: which statement, for which relation. -#}
{%- macro materialized_table_statement(decision, settings, sql) -%}
{%- set query = adapter.query_text(sql) -%}
create or {{ 'replace' if decision.replaces else 'alter' }} materialized table {{ adapter.full_name(decision.target) }}
{% set clauses = [
  materialized_table_columns(decision.target, settings, query),
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
{{ query }}
{%- endmacro -%}
