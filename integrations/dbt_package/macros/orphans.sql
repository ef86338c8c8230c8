{#- dbt run-operation orphaned_materialized_tables: tables that a model of this project made, and
   no model makes any more. With `drop: true` it drops them. -#}
{%- macro orphaned_materialized_tables(drop=false) -%}
  {%- if execute -%}
    {%- set made = [] -%}
    {%- set schemas = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ('model', 'seed', 'snapshot') -%}
      {%- do made.append((node.schema ~ '.' ~ node.alias) | lower) -%}
      {%- if node.schema not in schemas -%}{%- do schemas.append(node.schema) -%}{%- endif -%}
    {%- endfor -%}
    {%- for schema in schemas -%}
      {%- set shown = run_query('show materialized tables from ' ~ dbt_materialized_table.quoted(schema)) -%}
      {%- for table in shown.rows if (schema ~ '.' ~ table[1]) | lower not in made -%}
        {%- set name = dbt_materialized_table.quoted(schema) ~ '.' ~ dbt_materialized_table.quoted(table[1]) -%}
        {%- for row in run_query('describe extended materialized table ' ~ name).rows -%}
          {%- if row[0] == 'Declared by' and row[1].startswith('dbt model.' ~ project_name ~ '.') -%}
            {%- do print(name ~ ' is orphaned: ' ~ row[1] ~ ' is gone or has another name' ~ ('; dropped' if drop else '')) -%}
            {%- if drop -%}{%- do run_query('drop materialized table ' ~ name) -%}{%- endif -%}
          {%- endif -%}
        {%- endfor -%}
      {%- endfor -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
