{#- The adapter decides what to do, and does it. Macros render the statement in between. -#}
{%- materialization materialized_table, adapter='spark_mt', supported_languages=['sql', 'python'] -%}

  {%- do adapter.require_sql(model, 'materialized_table') -%}
  {%- set settings = adapter.materialized_table_settings(config) -%}
  {%- do warn_each(settings.warnings) -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set decision = adapter.decide_materialization(
    this, load_relation(this), settings,
    full_refresh=should_full_refresh(), validates=flags.EMPTY or flags.SAMPLE
  ) -%}
  {%- set statement_sql = materialized_table_statement(decision, settings, sql) -%}
  {{ write(statement_sql) }}
  {%- set response = adapter.materialize(decision, statement_sql, settings, sql) -%}
  {%- if decision.stand_in -%}
    {%- call statement('stand_in') -%}
      {{ get_create_view_as_sql(decision.stand_in, sql) }}
    {%- endcall -%}
  {%- endif -%}
  {%- do store_result('main', response=response) -%}
  {%- do warn_each(response.warnings) -%}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [decision.result]}) }}

{%- endmaterialization -%}
