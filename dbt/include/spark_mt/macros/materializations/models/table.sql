{#- dbt-spark's table, over what has its name; a Python model runs in this process. -#}
{% materialization table, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set view = python_model_view() -%}
  {{ run_hooks(pre_hooks) }}

  {%- if model.language == 'python' -%}
    {%- call statement('main', language='python') -%}
      {{ python_model_code(compiled_code, view) }}
    {%- endcall -%}
  {%- endif -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- do write_table(existing_relation, target_relation, view) -%}
  {%- do finish_table(target_relation, existing_relation) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
