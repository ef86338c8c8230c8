{#- A statement that changes what a table holds fills it; otherwise it is refreshed now, unless the
   user has suspended it, or a manager keeps it fresh. The run that adopts a table leaves its rows as
   they are. -#}
{%- macro bring_materialized_table_up_to_date(relation, settings) -%}
  {%- set main = load_result('main') -%}
  {%- if main.response.is_suspended or main.response.action == 'ADOPTED' -%}
    {{ return(none) }}
  {%- endif -%}
  {%- if not main.response.refresh and not is_left_to_others(relation, settings) -%}
    {%- do refresh_on_this_run(relation, settings, main) -%}
  {%- endif -%}
  {%- do adapter.await_materialized_table(relation, settings.wait) -%}
{%- endmacro -%}


{%- macro is_left_to_others(relation, settings) -%}
  {%- set left = settings.refresh_on_run == 'never' or (settings.refresh_on_run == 'auto' and adapter.is_kept_fresh(relation)) -%}
  {{ return(left) }}
{%- endmacro -%}


{%- macro refresh_on_this_run(relation, settings, main) -%}
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
