{#- Every drop goes by type: a plain DROP TABLE would leave a materialized table's registry row. -#}
{% macro spark_mt__drop_relation(relation) -%}
  {%- call statement('drop_relation', auto_begin=False) -%}
    {{ get_drop_sql(relation) }}
  {%- endcall -%}
{%- endmacro %}


{%- macro spark_mt__get_drop_sql(relation) -%}
  {%- if relation.is_materialized_table -%}
    {{ drop_materialized_table(relation) }}
  {%- else -%}
    drop {{ relation.type }} if exists {{ relation }}
  {%- endif -%}
{%- endmacro -%}
