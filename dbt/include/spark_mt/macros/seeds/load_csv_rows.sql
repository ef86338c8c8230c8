{% macro spark_mt__load_csv_rows(model, agate_table) %}
  {% do adapter.load_seed(this, agate_table, model['config']) %}
  {{ return('-- ' ~ agate_table.rows | length ~ ' rows were loaded through a DataFrame') }}
{% endmacro %}
