{#- One declarative statement says what the table is; the engine finds out what has to change. -#}
{%- materialization materialized_table, adapter='spark_mt', supported_languages=['sql', 'python'] -%}

  {%- do adapter.require_sql(model, 'materialized_table') -%}
  {%- set target_relation = this.incorporate(type=this.MaterializedTable) -%}
  {%- set settings = adapter.materialized_table_settings(config) -%}
  {%- do warn_each(settings.warnings) -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set existing_relation = load_relation(this) -%}
  {%- if flags.EMPTY or flags.SAMPLE -%}
    {%- set target_relation = validate_materialized_table(existing_relation, target_relation, settings, sql) -%}
  {%- else -%}
    {%- if stands_in_the_way(existing_relation, target_relation, settings) -%}
      {%- do swap_in_materialized_table(existing_relation, target_relation, settings, sql) -%}
    {%- elif is_to_be_adopted(existing_relation, settings) -%}
      {%- do adopt_materialized_table(target_relation, settings, sql) -%}
    {%- else -%}
      {%- do apply_materialized_table(existing_relation, target_relation, settings, sql) -%}
    {%- endif -%}
    {%- do bring_materialized_table_up_to_date(target_relation, settings) -%}
    {%- do warn_each(load_result('main').response.warnings) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{%- endmaterialization -%}
