{#- dbt-spark's macro with the catalog of the snapshot, in a name of this run's own. Not every catalog but
   Spark's own has views: there the view is a temporary one of the snapshot's session. -#}
{% macro spark_build_snapshot_staging_table(strategy, sql, target_relation) %}
  {%- set staging = target_relation.incorporate(
    path={'identifier': target_relation.identifier ~ '__dbt_tmp_' ~ invocation_id.replace('-', '_')},
    type='view'
  ) -%}
  {%- set is_temporary = not target_relation.is_in_spark_catalog -%}
  {%- if is_temporary -%}
    {%- set staging = staging.include(database=false, schema=false) -%}
  {%- endif -%}
  {%- set select = snapshot_staging_table(strategy, sql, target_relation) -%}
  {%- call statement('build_snapshot_staging_relation') -%}
    {{ create_temporary_view(staging, select) if is_temporary else create_view_as(staging, select) }}
  {%- endcall -%}
  {{ return(staging) }}
{% endmacro %}
