{#- Write a view's rows as the model's table: over it where its format can, else after a drop. -#}
{%- macro write_table_from_view(existing_relation, relation, view) -%}
  {%- set format = config.get('file_format', default='delta') -%}
  {%- if existing_relation is not none -%}
    {%- set in_place = (format == 'delta' and existing_relation.is_delta)
      or (format == 'iceberg' and existing_relation.is_iceberg) -%}
    {%- if not in_place -%}
      {%- do adapter.drop_relation(existing_relation) -%}
    {%- endif -%}
  {%- endif -%}
  {%- call statement('write') -%}
    {{ create_table_as(False, relation, 'select * from ' ~ view, 'sql') }}
  {%- endcall -%}
{%- endmacro -%}
