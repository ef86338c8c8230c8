{#- Functions are SQL functions of Spark: CREATE FUNCTION … RETURN, in the catalog for all sessions. -#}
{% macro spark_mt__scalar_function_sql(target_relation) -%}
  {{ create_sql_function(target_relation) }}
{%- endmacro %}


{% macro spark_mt__table_function_sql(target_relation) -%}
  {%- if not model.returns.data_type.strip().lower().startswith('table') -%}
    {%- do exceptions.raise_compiler_error(
      'A table function returns `table (column type, …)`, but `returns.data_type` is `'
      ~ model.returns.data_type ~ '`.'
    ) -%}
  {%- endif -%}
  {{ create_sql_function(target_relation) }}
{%- endmacro %}


{% macro create_sql_function(relation) -%}
  {%- if model.overloads -%}
    {{ refuse_function('it has overloads, and in Spark a second function of a name replaces the first. Give each its own name.') }}
  {%- endif -%}
  CREATE OR REPLACE FUNCTION {{ adapter.full_name(relation) }} ({{ formatted_scalar_function_args_sql() }})
  RETURNS {{ model.returns.data_type }}
  {{ scalar_function_volatility_sql() }}
  {%- if config.persist_relation_docs() and model.description %}
  COMMENT {{ adapter.quote_text(model.description) }}
  {%- endif %}
  RETURN {{ adapter.query_text(model.compiled_code) }}
{%- endmacro %}


{% macro spark_mt__formatted_scalar_function_args_sql() -%}
  {%- for arg in model.arguments -%}
    {{ arg.name }} {{ arg.data_type }}
    {%- if arg.default_value is not none and arg.default_value is defined %} DEFAULT {{ arg.default_value }}{% endif -%}
    {%- if config.persist_column_docs() and arg.description %} COMMENT {{ adapter.quote_text(arg.description) }}{% endif -%}
    {{ ', ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}


{#- Spark has nothing between the two. -#}
{% macro spark_mt__scalar_function_volatility_sql() -%}
  {%- set volatility = model.config.get('volatility') -%}
  {%- if volatility == 'deterministic' -%}
    DETERMINISTIC
  {%- elif volatility == 'non-deterministic' -%}
    NOT DETERMINISTIC
  {%- elif volatility != none -%}
    {%- do unsupported_volatility_warning(volatility) -%}
  {%- endif -%}
{%- endmacro %}
