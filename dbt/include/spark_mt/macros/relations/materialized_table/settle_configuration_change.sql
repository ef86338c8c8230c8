{#- on_configuration_change governs what is not the query: apply it, leave it, or fail. -#}
{%- macro settle_configuration_change(existing_relation, relation, settings, wanted) -%}
  {%- set policy = settings.on_configuration_change -%}
  {%- if policy == 'apply' or existing_relation is none -%}
    {{ return(wanted) }}
  {%- endif -%}

  {%- set kept = adapter.keep_configuration(wanted) -%}
  {%- if not kept.left -%}
    {{ return(wanted) }}
  {%- endif -%}

  {%- set message -%}
Configuration changes were identified and `on_configuration_change` was set to `{{ policy }}` for `{{ relation }}`: {{ kept.left | join('; ') }}
  {%- endset -%}
  {%- if policy == 'fail' -%}
    {%- do exceptions.raise_fail_fast_error(message) -%}
  {%- endif -%}
  {%- do exceptions.warn(message) -%}
  {{ return(kept.statement) }}
{%- endmacro -%}
