{#- Write all rows of a model as its table; the adapter decides how it takes the place of what has its name.

   The rows of a Python model are in `view`. -#}
{%- macro write_table(existing_relation, relation, view) -%}
  {%- set is_sql = model.language == 'sql' -%}
  {%- set query = compiled_code if is_sql else 'select * from ' ~ view -%}
  {%- set write = adapter.plan_write(relation, existing_relation, config.get('file_format', default='delta')) -%}
  {%- do adapter.prepare_write(write, query) -%}
  {%- call statement('main' if is_sql else 'write') -%}
    {{ create_table_as(False, write.written, query, 'sql') }}
  {%- endcall -%}
  {%- do adapter.finish_write(write) -%}
{%- endmacro -%}


{#- Whether an incremental model writes all of its rows. -#}
{%- macro writes_all_rows(existing_relation) -%}
  {{ return(existing_relation is none or not existing_relation.is_table or should_full_refresh()) }}
{%- endmacro -%}


{%- macro finish_table(relation, existing_relation) -%}
  {%- do apply_grants(relation, config.get('grants'), should_revoke(existing_relation, full_refresh_mode=True)) -%}
  {%- do persist_docs(relation, model) -%}
  {%- do persist_constraints(relation, model) -%}
{%- endmacro -%}
