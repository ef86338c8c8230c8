{#- Spark 4 has LISTAGG, so the order counts; dbt-spark's macro leaves it out. For a limit the
   values are joined by a character that no text holds, cut, and joined again. -#}
{% macro spark_mt__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set order = 'within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
  {%- if limit_num -%}
    array_join(slice(split(listagg({{ measure }}, '\u0001') {{ order }}, '\u0001'), 1, {{ limit_num }}), {{ delimiter_text }})
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }}) {{ order }}
  {%- endif -%}
{%- endmacro %}
