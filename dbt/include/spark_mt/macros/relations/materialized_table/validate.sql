{#- --empty and --sample: the query that dbt renders is not the model's, so nothing is altered.

   Where there is no table yet, a view of the rendered query stands in for it, so that models
   downstream can run; the next run without the flag replaces it. -#}
{%- macro validate_materialized_table(existing_relation, relation, settings, sql) -%}
  {%- set replaces = existing_relation is none or not existing_relation.is_materialized_table -%}
  {%- set adopt = settings.adopt if is_to_be_adopted(existing_relation, settings) else none -%}
  {%- set checked = make_temp_relation(relation) if replaces and not adopt else relation -%}
  {%- set response = adapter.validate_materialized_table(
    create_or_alter_materialized_table(checked.include(database=true, schema=true), settings, sql),
    adopt
  ) -%}
  {%- do warn_each(response.warnings) -%}

  {%- set stand_in = this.incorporate(type='view') -%}
  {%- if existing_relation is none or existing_relation.is_view -%}
    {%- call statement('stand_in') -%}
      {{ get_create_view_as_sql(stand_in, sql) }}
    {%- endcall -%}
  {%- endif -%}
  {%- do store_result('main', response=response, agate_table=none) -%}
  {{ return(existing_relation or stand_in) }}
{%- endmacro -%}
