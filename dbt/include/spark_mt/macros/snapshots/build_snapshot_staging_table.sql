{#- dbt-spark's macro with the catalog of the snapshot, in a name of this run's own. -#}
{% macro spark_build_snapshot_staging_table(strategy, sql, target_relation) %}
  {%- set staging = target_relation.incorporate(
    path={'identifier': target_relation.identifier ~ '__dbt_tmp_' ~ invocation_id.replace('-', '_')},
    type='view'
  ) -%}
  {%- set select = snapshot_staging_table(strategy, sql, target_relation) -%}
  {%- call statement('build_snapshot_staging_relation') -%}
    {{ create_view_as(staging, select) }}
  {%- endcall -%}
  {{ return(staging) }}
{% endmacro %}
