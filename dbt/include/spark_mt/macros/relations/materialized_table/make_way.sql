{#- Remove what stands in the place of a materialized table, after the new one was checked.

   A view holds no data. A plain table may hold history that no query rebuilds: only
   --full-refresh removes it. -#}
{%- macro make_way_for_materialized_table(existing_relation, relation, settings, sql) -%}
  {%- if existing_relation is none or existing_relation.is_materialized_table -%}
    {{ return(none) }}
  {%- endif -%}
  {%- if existing_relation.is_table and adapter.is_materialized_table(existing_relation) -%}
    {{ return(none) }}
  {%- endif -%}
  {%- if not existing_relation.is_view and not should_full_refresh() -%}
    {%- do exceptions.raise_compiler_error(
      relation ~ ' is a plain table, and the model is a materialized_table now. The table may hold '
      ~ 'history that no query rebuilds. To drop it and build it from the query, run dbt with '
      ~ '--full-refresh; to keep it, rename it or give the model another alias.'
    ) -%}
  {%- endif -%}

  {%- set checked = make_temp_relation(relation).include(database=true, schema=true) -%}
  {%- do adapter.validate_materialized_table(
    create_or_alter_materialized_table(checked, settings, sql)
  ) -%}
  {%- do drop_relation_if_exists(existing_relation) -%}
{%- endmacro -%}
