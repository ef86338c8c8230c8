{#- A model is one statement, which the refresh manager's Spark Connect server understands. -#}
{% materialization materialized_table, default %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set settings = dbt_materialized_table.settings_of(model) -%}

  {{ run_hooks(pre_hooks) }}

  {% call statement('main') -%}
    {{ dbt_materialized_table.statement_sql(target, sql, model, should_full_refresh()) }}
  {%- endcall %}
  {%- if settings.get('refresh') == 'always' -%}
    {%- do run_query('alter materialized table ' ~ target ~ ' refresh') -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{% endmaterialization %}
