{#- A Delta table is cloned without copying its files; anything else becomes a view of the other
   environment: a clone of a materialized table would be a second writer's table. -#}
{%- materialization clone, adapter='spark_mt' -%}

  {%- if not defer_relation -%}
    {{ log('No relation found in state manifest for ' ~ model.unique_id, info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- if existing_relation and not flags.FULL_REFRESH -%}
    {{ log('Relation ' ~ existing_relation ~ ' already exists', info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set other_relation = load_cached_relation(defer_relation) -%}
  {%- if other_relation and this.render() == defer_relation.render() -%}
    {{ log('skipping clone for relation ' ~ this ~ ': it would be cloned onto itself', info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set query = 'select * from ' ~ defer_relation -%}
  {%- if other_relation and other_relation.is_table and other_relation.is_delta and can_clone_table() -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set write = adapter.plan_write(target_relation, existing_relation, none) -%}
    {%- do adapter.prepare_write(write, query) -%}
    {%- call statement('main') -%}
      {{ create_or_replace_clone(write.written, defer_relation) }}
    {%- endcall -%}
    {%- do adapter.finish_write(write) -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}
  {%- else -%}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- if existing_relation and not existing_relation.is_view -%}
      {%- do adapter.query_columns(query) -%}
      {%- do drop_relation_if_exists(existing_relation) -%}
    {%- endif -%}
    {%- call statement('main') -%}
      {{ get_create_view_as_sql(target_relation, query) }}
    {%- endcall -%}
  {%- endif -%}

  {{ return({'relations': [target_relation]}) }}

{%- endmaterialization -%}
