{#- dbt-spark's incremental would merge into whatever is there; a Python model runs in this process. -#}
{% materialization incremental, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- if model.language == 'sql' -%}
    {%- do release_materialized_table_in_the_way() -%}
    {%- do materialization_incremental_spark() -%}
    {{ return({'relations': [target_relation]}) }}
  {%- endif -%}

  {%- set strategy = python_incremental_strategy() -%}
  {%- set view = python_model_view() -%}
  {{ run_hooks(pre_hooks) }}

  {%- call statement('main', language='python') -%}
    {{ python_model_code(compiled_code, view) }}
  {%- endcall -%}
  {%- do release_materialized_table_in_the_way() -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- do write_increment_from_view(existing_relation, target_relation, view, strategy) -%}
  {%- do finish_python_model(target_relation, existing_relation) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
