{#- dbt's routing by type, with a branch for materialized tables. -#}
{%- macro spark_mt__get_create_sql(relation, sql) -%}
  {%- if relation.is_materialized_table -%}
    {%- set settings = adapter.materialized_table_settings(config) -%}
    {{ create_or_alter_materialized_table(relation, settings, sql) }}
  {%- else -%}
    {{ default__get_create_sql(relation, sql) }}
  {%- endif -%}
{%- endmacro -%}


{%- macro spark_mt__get_replace_sql(existing_relation, target_relation, sql) -%}
  {%- if existing_relation.is_materialized_table and target_relation.is_materialized_table -%}
    {%- set settings = adapter.materialized_table_settings(config) -%}
    {{ create_or_replace_materialized_table(target_relation, settings, sql) }}
  {%- else -%}
    {{ default__get_replace_sql(existing_relation, target_relation, sql) }}
  {%- endif -%}
{%- endmacro -%}
