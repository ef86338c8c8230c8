{#- A seed is written in one commit, and not at all where its rows are equal: tables that read it
   see it neither empty nor changed. The adapter decides; other formats are written by dbt-spark. -#}
{%- materialization seed, adapter='spark_mt' -%}
  {%- set full_refresh = should_full_refresh() -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set agate_table = load_agate_table() -%}
  {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- if existing_relation is not none and existing_relation.is_view -%}
    {%- do exceptions.raise_compiler_error("Cannot seed to '" ~ existing_relation ~ "', it is a view") -%}
  {%- endif -%}
  {%- if adapter.is_replaced_in_place(config.get('file_format')) -%}
    {%- set sql = create_seed_sql(target_relation) -%}
    {%- set comment = model.description if config.persist_relation_docs() else none -%}
    {%- set result = adapter.write_seed(
      target_relation, existing_relation, agate_table, dict(model.config, file_format=config.get('file_format')),
      (sql, comment), full_refresh=full_refresh
    ) -%}
    {%- call noop_statement('main', result.message, result.code, result.rows) -%}
      {{ sql }}
    {%- endcall -%}
  {%- else -%}
    {%- do write_seed_of_other_format(existing_relation, agate_table, full_refresh) -%}
  {%- endif -%}

  {%- do apply_grants(target_relation, config.get('grants'), should_revoke(existing_relation, full_refresh)) -%}
  {%- do persist_docs(target_relation, model) -%}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}
{%- endmaterialization -%}
