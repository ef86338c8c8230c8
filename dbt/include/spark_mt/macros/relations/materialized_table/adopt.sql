{#- Whether a plain table of the model's name becomes the materialized one, with the rows it has. -#}
{%- macro is_to_be_adopted(existing_relation, settings) -%}
  {{ return(
    settings.adopt.wanted and existing_relation is not none and existing_relation.is_table
    and not should_full_refresh()
  ) }}
{%- endmacro -%}


{%- macro adopt_materialized_table(relation, settings, sql) -%}
  {{ log('Adopting: ' ~ relation) }}
  {%- set wanted = create_or_alter_materialized_table(relation, settings, sql) -%}
  {%- set response = adapter.adopt_materialized_table(wanted, settings.adopt) -%}
  {%- do store_result('main', response=response, agate_table=none) -%}
{%- endmacro -%}
