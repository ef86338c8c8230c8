{#- dbt's own macro knows tables only. An incremental model that was a materialized table continues with
   its rows, and must not read them all from its sources again. -#}
{% macro is_incremental() %}
  {%- if not execute or model.config.materialized != 'incremental' or should_full_refresh() -%}
    {{ return(false) }}
  {%- endif -%}
  {%- set relation = adapter.get_relation(this.database, this.schema, this.table) -%}
  {%- if relation is none -%}
    {{ return(false) }}
  {%- endif -%}
  {{ return(relation.is_table or (relation.is_materialized_table and is_to_be_released())) }}
{% endmacro %}
