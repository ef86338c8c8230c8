{#- dbt run-operation plan_materialized_tables: what `dbt run` would do; it changes nothing.
   `select` is a list of names of models; all by default. -#}
{%- macro plan_materialized_tables(select=none, full_refresh=false) -%}
  {%- if execute -%}
    {%- set names = [select] if select is string else select -%}
    {%- for node in graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') -%}
      {%- if node.config.materialized == 'materialized_table' and (names is none or node.name in names) -%}
        {%- set target = api.Relation.create(schema=node.schema, identifier=node.alias) -%}
        {%- set sql = dbt_materialized_table.statement_sql(target, render(node.raw_code), node, full_refresh) -%}
        {%- do print(target) -%}
        {%- for row in run_query('explain ' ~ sql).rows -%}
          {%- do print('  ' ~ row.values() | reject('none') | join('  ')) -%}
        {%- endfor -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
