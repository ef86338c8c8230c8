{#- The strategy of an incremental model, by dbt-spark's rules. -#}
{%- macro incremental_strategy() -%}
  {%- set format = dbt_spark_validate_get_file_format(config.get('file_format', default='delta')) -%}
  {%- set strategy = config.get('incremental_strategy') or 'append' -%}
  {%- if strategy == 'microbatch' and model.language == 'python' -%}
    {%- do exceptions.raise_compiler_error(
      model.name ~ ' is a Python model, and dbt filters the batches of a microbatch in SQL only: '
      ~ 'each batch would hold all rows. Use another incremental_strategy and filter in the model.'
    ) -%}
  {%- endif -%}
  {{ return(dbt_spark_validate_get_incremental_strategy(strategy, format)) }}
{%- endmacro -%}


{#- Bring the rows of a Python model's view into its table. -#}
{%- macro write_increment_from_view(existing_relation, relation, view, strategy) -%}
  {%- if strategy == 'insert_overwrite' and config.get('partition_by') -%}
    {%- call statement() -%}
      set spark.sql.sources.partitionOverwriteMode = DYNAMIC
    {%- endcall -%}
  {%- endif -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- do process_schema_changes(on_schema_change, view, existing_relation) -%}
  {%- set predicates = config.get('predicates', none) or config.get('incremental_predicates', none) -%}
  {%- call statement('write') -%}
    {{ dbt_spark_get_incremental_sql(strategy, view, relation, existing_relation, config.get('unique_key', none), predicates) }}
  {%- endcall -%}
{%- endmacro -%}
