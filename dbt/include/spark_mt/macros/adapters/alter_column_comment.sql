{#- dbt-spark's macro commits every comment of every run; one that the table has is left out here. -#}
{% macro spark_mt__alter_column_comment(relation, column_dict) %}
  {%- if config.get('file_format') in ['delta', 'hudi', 'iceberg'] -%}
    {%- for name, comment in adapter.changed_comments(relation, column_dict) -%}
      {%- call statement('alter_column_comment') -%}
        alter table {{ relation }} {{ 'alter' if relation.is_iceberg else 'change' }} column {{ adapter.quote(name) }} comment {{ adapter.quote_text(comment) }}
      {%- endcall -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
