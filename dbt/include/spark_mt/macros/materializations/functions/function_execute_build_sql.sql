{#- Comments are in the statement: Spark has no COMMENT ON FUNCTION. -#}
{% macro spark_mt__function_execute_build_sql(build_sql, existing_relation, target_relation) %}
  {%- call statement('main') -%}
    {{ build_sql }}
  {%- endcall -%}
  {%- do apply_grants(target_relation, config.get('grants')) -%}
{% endmacro %}
