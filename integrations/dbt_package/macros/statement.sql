{#- The statement of a model: its settings are in meta.materialized_table, because dbt does not
   know ours. `node` is the model, as dbt's graph has it. -#}
{%- macro statement_sql(relation, query, node, full_refresh=false) -%}
  {%- set settings = dbt_materialized_table.settings_of(node) -%}
  {%- set adopt = settings.get('adopt', false) -%}
  {%- if full_refresh -%}
    create or replace materialized table {{ relation }}
  {%- elif adopt -%}
    adopt materialized table {{ relation }} {{- ' if equal' if adopt == 'if_equal' }}
  {%- else -%}
    create or alter materialized table {{ relation }}
  {%- endif %}
  {{- dbt_materialized_table.clauses_sql(query, node, settings) }}
as
{{ query }}
{%- endmacro -%}


{%- macro settings_of(node) -%}
  {%- set settings = node.config.get('meta', {}).get('materialized_table', {}) -%}
  {%- set known = [
    'adopt', 'cluster_by', 'freshness', 'options', 'partition_by', 'primary_key', 'refresh',
    'refresh_mode', 'start_mode', 'state_retention'
  ] -%}
  {%- for key in settings if key not in known -%}
    {%- do exceptions.raise_compiler_error(
      node.name ~ ': meta.materialized_table has no setting ' ~ key ~ '; it has ' ~ known | join(', ')
    ) -%}
  {%- endfor -%}
  {{ return(settings) }}
{%- endmacro -%}


{%- macro clauses_sql(query, node, settings) -%}
  {%- set items = dbt_materialized_table.column_items(query, node, settings) -%}
  {%- set docs = node.config.get('persist_docs', {}) -%}
  {%- if items %}
  (
    {{ items | join(',\n    ') }}
  )
  {%- endif -%}
  {%- if docs.get('relation') and node.description %}
  comment {{ dbt_materialized_table.text(node.description) }}
  {%- endif -%}
  {%- for key, words in [('partition_by', 'partitioned by'), ('cluster_by', 'cluster by')] if settings.get(key) %}
  {{ words }} {{ dbt_materialized_table.names(settings[key]) }}
  {%- endfor -%}
  {%- if settings.get('options') %}
  with (
    {%- for key, value in settings.options.items() -%}
      {{ dbt_materialized_table.text(key) }} = {{ dbt_materialized_table.text(value) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
  )
  {%- endif -%}
  {%- if settings.get('freshness') %}
  freshness = {{ dbt_materialized_table.interval(settings.freshness) }}
  {%- endif -%}
  {%- for key in ['refresh_mode', 'start_mode', 'state_retention'] if settings.get(key) %}
  {{ key }} = {{ settings[key] }}
  {%- endfor -%}
{%- endmacro -%}
