{#- dbt-spark's incremental adds rows to a table. All rows are written as by `table`; a materialized
   table in the way is released, and a Python model runs in this process. -#}
{% materialization incremental, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set strategy = incremental_strategy() -%}
  {%- set view = python_model_view() -%}
  {%- if model.language == 'sql' -%}
    {%- do release_materialized_table_in_the_way() -%}
    {%- if not writes_all_rows(load_relation(this)) -%}
      {%- do materialization_incremental_spark() -%}
      {{ return({'relations': [target_relation]}) }}
    {%- endif -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- if model.language == 'python' -%}
    {%- call statement('main', language='python') -%}
      {{ python_model_code(compiled_code, view) }}
    {%- endcall -%}
    {%- do release_materialized_table_in_the_way() -%}
  {%- endif -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- if writes_all_rows(existing_relation) -%}
    {%- do write_table(existing_relation, target_relation, view) -%}
  {%- else -%}
    {%- do write_increment_from_view(existing_relation, target_relation, view, strategy) -%}
  {%- endif -%}
  {%- do finish_table(target_relation, existing_relation) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
