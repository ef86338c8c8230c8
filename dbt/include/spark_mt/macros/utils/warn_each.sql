{%- macro warn_each(messages) -%}
  {%- for message in messages -%}
    {%- do exceptions.warn(model.name ~ ': ' ~ message) -%}
  {%- endfor -%}
{%- endmacro -%}
