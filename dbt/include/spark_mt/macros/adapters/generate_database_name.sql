{#- Catalogs are databases to dbt: a model's own, else the profile's. -#}
{% macro spark_mt__generate_database_name(custom_database_name=none, node=none) -%}
  {{ return(default__generate_database_name(custom_database_name, node)) }}
{%- endmacro %}
