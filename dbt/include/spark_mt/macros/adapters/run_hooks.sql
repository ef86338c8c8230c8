{#- dbt's own macro commits before the hooks outside of a transaction; Spark has no COMMIT. -#}
{% macro run_hooks(hooks, inside_transaction=True) %}
  {%- for hook in hooks | selectattr('transaction', 'equalto', inside_transaction) -%}
    {%- set rendered = render(hook.get('sql')) | trim -%}
    {%- if rendered -%}
      {%- call statement(auto_begin=inside_transaction) -%}
        {{ rendered }}
      {%- endcall -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
