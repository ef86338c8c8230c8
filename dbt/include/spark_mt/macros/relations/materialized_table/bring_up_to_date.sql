{#- A statement that changes what a table holds fills it; otherwise it is refreshed now, unless the
   user has suspended it. The run that adopts a table leaves its rows as they are. -#}
{%- macro bring_materialized_table_up_to_date(relation, settings) -%}
  {%- set main = load_result('main') -%}
  {%- if main.response.refresh or main.response.is_suspended or main.response.action == 'ADOPTED' or settings.refresh_on_run == 'never' -%}
    {{ return(none) }}
  {%- endif -%}

  {%- if settings.refresh_on_run == 'always' -%}
    {%- set refresh = adapter.refresh_materialized_table(relation) -%}
  {%- else -%}
    {%- call statement('refresh') -%}
      {{ refresh_materialized_table(relation) }}
    {%- endcall -%}
    {%- set refresh = load_result('refresh').response -%}
  {%- endif -%}

  {%- set combined = adapter.combine_responses(main.response, refresh) -%}
  {%- do store_result('main', response=combined, agate_table=main.table) -%}
{%- endmacro -%}


{%- macro refresh_materialized_table(relation) -%}
  alter materialized table {{ adapter.full_name(relation) }} refresh
{%- endmacro -%}
