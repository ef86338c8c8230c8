{#- Open source Spark has neither GRANT nor SHOW GRANTS. -#}
{% macro spark_mt__apply_grants(relation, grant_config, should_revoke=True) %}
  {%- if grant_config -%}
    {%- do exceptions.warn('grants: Spark has no GRANT; they were not applied to ' ~ relation ~ '.') -%}
  {%- endif -%}
{% endmacro %}
