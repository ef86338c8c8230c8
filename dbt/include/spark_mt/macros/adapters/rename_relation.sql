{#- Spark wants the new name without the catalog, but for views in other catalogs than its own. A renamed
   materialized table stays one: its identity is in the table, and the registry follows. -#}
{% macro spark_mt__rename_relation(from_relation, to_relation) -%}
  {%- set has_catalog = from_relation.is_view and not from_relation.is_in_spark_catalog -%}
  {%- call statement('rename_relation') -%}
    {{ get_rename_sql(from_relation, to_relation.include(database=has_catalog)) }}
  {%- endcall -%}
  {%- if from_relation.is_materialized_table -%}
    {%- do adapter.registry_follows(from_relation, to_relation) -%}
  {%- endif -%}
{%- endmacro %}


{%- macro spark_mt__get_rename_sql(relation, new_name) -%}
  {%- if relation.type is none -%}
    {%- do exceptions.raise_compiler_error('Cannot rename a relation of unknown type: ' ~ relation) -%}
  {%- endif -%}
  alter {{ 'view' if relation.is_view else 'table' }} {{ relation }} rename to {{ new_name }}
{%- endmacro -%}
