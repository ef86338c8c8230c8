{#- dbt-spark's table; a Python model runs in this process. -#}
{% materialization table, adapter='spark_mt', supported_languages=['sql', 'python'] %}
  {%- if model.language == 'sql' -%}
    {%- do drop_materialized_table_in_the_way() -%}
    {{ return(materialization_table_spark()) }}
  {%- endif -%}

  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set view = python_model_view() -%}
  {{ run_hooks(pre_hooks) }}

  {%- call statement('main', language='python') -%}
    {{ python_model_code(compiled_code, view) }}
  {%- endcall -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- do write_table_from_view(existing_relation, target_relation, view) -%}
  {%- do finish_python_model(target_relation, existing_relation) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
