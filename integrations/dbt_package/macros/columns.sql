{#- What is between the parentheses after the table's name. A contract gives the columns with types
   and constraints, and the engine compares them with the query. Descriptions alone need the types
   of the query, which Spark knows. -#}
{%- macro column_items(query, node, settings) -%}
  {%- set described = node.config.get('persist_docs', {}).get('columns', false) -%}
  {%- set items = [] -%}
  {%- set keys = [settings['primary_key']] if settings.get('primary_key') else [] -%}
  {%- if node.config.get('contract', {}).get('enforced', false) -%}
    {%- for column in node.columns.values() -%}
      {%- set comment = column.description if described else '' -%}
      {%- set kinds = column.constraints | map(attribute='type') | map('string') | list -%}
      {%- do items.append(dbt_materialized_table.column_item(column.name, column.data_type, comment, 'not_null' in kinds)) -%}
      {%- do dbt_materialized_table.add_constraints(items, keys, column.constraints, [column.name]) -%}
    {%- endfor -%}
    {%- do dbt_materialized_table.add_constraints(items, keys, node.get('constraints', []), []) -%}
  {%- elif described and node.columns.values() | selectattr('description') | list -%}
    {%- set comments = {} -%}
    {%- for column in node.columns.values() -%}
      {%- do comments.update({column.name | lower: column.description}) -%}
    {%- endfor -%}
    {%- for row in run_query('describe query ' ~ query).rows -%}
      {%- do items.append(dbt_materialized_table.column_item(row[0], row[1], comments.get(row[0] | lower, ''), false)) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- for key in keys[:1] -%}
    {%- do items.append('primary key ' ~ dbt_materialized_table.names(key) ~ ' not enforced') -%}
  {%- endfor -%}
  {{ return(items) }}
{%- endmacro -%}


{%- macro column_item(name, type, comment, not_null) -%}
  {{ return(
    dbt_materialized_table.quoted(name) ~ ' ' ~ type ~ (' not null' if not_null else '')
    ~ (' comment ' ~ dbt_materialized_table.text(comment) if comment else '')
  ) }}
{%- endmacro -%}


{#- Checks and keys of a contract; NOT NULL is said with the column. -#}
{%- macro add_constraints(items, keys, constraints, columns) -%}
  {%- for constraint in constraints -%}
    {%- set kind = constraint.type | string -%}
    {%- if kind == 'check' -%}
      {%- set name = 'constraint ' ~ dbt_materialized_table.quoted(constraint.name) ~ ' ' if constraint.name else '' -%}
      {%- do items.append(name ~ 'check (' ~ constraint.expression ~ ')') -%}
    {%- elif kind == 'primary_key' -%}
      {%- do keys.append(constraint.columns or columns) -%}
    {%- elif kind != 'not_null' -%}
      {%- do exceptions.raise_compiler_error('A materialized table has no constraint ' ~ kind ~ '; use a data test.') -%}
    {%- endif -%}
  {%- endfor -%}
{%- endmacro -%}


{%- macro names(listed) -%}
  {%- set listed = [listed] if listed is string else listed -%}
  {%- set quoted = [] -%}
  {%- for name in listed -%}{%- do quoted.append(dbt_materialized_table.quoted(name)) -%}{%- endfor -%}
  {{ return('(' ~ quoted | join(', ') ~ ')') }}
{%- endmacro -%}


{%- macro quoted(name) -%}
  {{ return('`' ~ name | replace('`', '``') ~ '`') }}
{%- endmacro -%}


{%- macro text(value) -%}
  {%- set value = (value | string | lower) if value is boolean else (value | string) -%}
  {{ return("'" ~ value | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") }}
{%- endmacro -%}


{#- "10 minutes" as a freshness of SQL; what begins with INTERVAL is one already. -#}
{%- macro interval(duration) -%}
  {%- set words = (duration | string).split() -%}
  {%- if words[0] | lower == 'interval' or words | length != 2 -%}{{ return(duration) }}{%- endif -%}
  {{ return("interval '" ~ words[0] ~ "' " ~ words[1]) }}
{%- endmacro -%}
