{#- Whether something else stands where the materialized table shall be.

   A view holds no data. A plain table may hold history that no query rebuilds: only
   --full-refresh removes it, and `adopt` keeps it. -#}
{%- macro stands_in_the_way(existing_relation, relation, settings) -%}
  {%- if existing_relation is none or existing_relation.is_materialized_table -%}
    {{ return(false) }}
  {%- endif -%}
  {%- if existing_relation.is_table and adapter.is_materialized_table(existing_relation) -%}
    {{ return(false) }}
  {%- endif -%}
  {%- if is_to_be_adopted(existing_relation, settings) -%}
    {{ return(false) }}
  {%- endif -%}
  {%- if not existing_relation.is_view and not should_full_refresh() -%}
    {%- do exceptions.raise_compiler_error(
      relation ~ ' is a plain table, and the model is a materialized_table now. The table may hold '
      ~ 'history that no query rebuilds. To keep its rows, files and history, set `adopt: true` in '
      ~ "the model's config: that costs one commit, if it is a Delta table whose columns are the "
      ~ "query's or the first of them. To drop it and compute all rows from the sources that exist "
      ~ 'today, run dbt with --full-refresh. To leave it, rename it or give the model an alias.'
    ) -%}
  {%- endif -%}
  {{ return(true) }}
{%- endmacro -%}


{#- Build the materialized table beside what stands in its place, and take that away only when the
   new table is there: until then, a failure leaves the old one as it was. -#}
{%- macro swap_in_materialized_table(existing_relation, relation, settings, sql) -%}
  {%- if adapter.query_reads(sql, relation) -%}
    {%- do exceptions.raise_compiler_error(
      'The query of ' ~ relation ~ ' reads the table itself, which a materialized_table cannot: it '
      ~ 'holds what its query returns, and nothing else. Remove that read; to add to rows that are '
      ~ 'there, keep the model incremental. Nothing was changed.'
    ) -%}
  {%- endif -%}
  {%- set staged = relation.incorporate(path={'identifier': relation.identifier ~ '__dbt_staged'}) -%}
  {%- set backup = existing_relation.incorporate(path={'identifier': relation.identifier ~ '__dbt_backup'}) -%}

  {%- call statement('drop_staged') -%}
    {{ drop_materialized_table(staged) }}
  {%- endcall -%}
  {%- call statement('main') -%}
    {{ create_or_alter_materialized_table(staged, settings, sql) }}
  {%- endcall -%}

  {%- do drop_relation_if_exists(backup) -%}
  {%- do adapter.rename_relation(existing_relation, backup) -%}
  {%- do adapter.rename_relation(staged, relation) -%}
  {%- do drop_relation_if_exists(backup) -%}
{%- endmacro -%}
