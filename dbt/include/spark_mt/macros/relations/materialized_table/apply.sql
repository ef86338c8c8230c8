{#- Run the model's statement as `main`. -#}
{%- macro apply_materialized_table(existing_relation, relation, settings, sql) -%}
  {%- if should_full_refresh() -%}
    {%- if existing_relation is not none -%}{{ log('Applying REPLACE to: ' ~ relation) }}{%- endif -%}
    {%- set statement_sql = create_or_replace_materialized_table(relation, settings, sql) -%}
  {%- else -%}
    {%- set wanted = create_or_alter_materialized_table(relation, settings, sql) -%}
    {%- set statement_sql = settle_configuration_change(existing_relation, relation, settings, wanted) -%}
  {%- endif -%}

  {%- call statement('main') -%}
    {{ statement_sql }}
  {%- endcall -%}

  {%- if load_result('main').response.action == 'ALTERED' -%}
    {{ log('Applying ALTER to: ' ~ relation) }}
  {%- endif -%}
{%- endmacro -%}
