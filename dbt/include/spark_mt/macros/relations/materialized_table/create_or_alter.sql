{#- The statements that define a materialized table; `settings` are its validated config. -#}
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
  'freshness = ' ~ settings.freshness if settings.freshness,
  'refresh_mode = ' ~ settings.refresh_mode if settings.refresh_mode,
  'start_mode = ' ~ settings.start_mode if settings.start_mode,
  'state_retention = ' ~ settings.state_retention if settings.state_retention,
] -%}
{%- for clause in clauses | map('trim') | select -%}
{{ clause }}
{% endfor -%}
as
{{ sql | trim }}
{%- endmacro -%}
