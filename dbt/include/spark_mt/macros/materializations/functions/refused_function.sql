{#- Kinds of functions that Spark's catalog cannot hold; a model would find none of them. -#}
{% macro spark_mt__scalar_function_python(target_relation) -%}
  {{ refuse_function('Python functions live in a session of Spark; its catalog holds functions of SQL only. Write the body in SQL, or call the Python function in a Python model.') }}
{%- endmacro %}


{% macro spark_mt__scalar_function_javascript(target_relation) -%}
  {{ refuse_function('Spark runs no JavaScript. Write the body in SQL.') }}
{%- endmacro %}


{% macro spark_mt__aggregate_function_sql(target_relation) -%}
  {{ refuse_function('a function of SQL cannot contain an aggregate in Spark (USER_DEFINED_FUNCTIONS.CANNOT_CONTAIN_COMPLEX_FUNCTIONS). Write a macro that renders the expression.') }}
{%- endmacro %}


{% macro spark_mt__aggregate_function_python(target_relation) -%}
  {{ refuse_function('aggregates in Python live in a session of Spark; its catalog holds functions of SQL only. Aggregate in a Python model.') }}
{%- endmacro %}


{% macro spark_mt__aggregate_function_javascript(target_relation) -%}
  {{ refuse_function('Spark runs no JavaScript. Aggregate in SQL, with a macro that renders the expression.') }}
{%- endmacro %}


{% macro refuse_function(why) -%}
  {%- do exceptions.raise_compiler_error('The function ' ~ model.name ~ ' cannot be created: ' ~ why) -%}
{%- endmacro %}
