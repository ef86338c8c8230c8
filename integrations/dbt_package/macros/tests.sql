{#- Tests of models of materialization materialized_table; each problem is a row. -#}
{% test healthy(model) %}
  {{ config(fail_calc='coalesce(sum(failures), 0)') }}
  {{ dbt_materialized_table.check_sql(model, 'health') if execute }}
{% endtest %}


{#- `within` is a duration as "10 minutes"; without it the freshness of the table counts. -#}
{% test fresh(model, within=none) %}
  {{ config(fail_calc='coalesce(sum(failures), 0)') }}
  {%- set limit = ' within ' ~ dbt_materialized_table.interval(within) if within else '' %}
  {{ dbt_materialized_table.check_sql(model, 'freshness' ~ limit) if execute }}
{% endtest %}


{% test equals_query(model) %}
  {{ config(fail_calc='coalesce(sum(failures), 0)') }}
  {{ dbt_materialized_table.check_sql(model, 'query') if execute }}
{% endtest %}


{#- dbt puts a test's query into another one, and CHECK is no query: its rows become literals. -#}
{%- macro check_sql(relation, what) -%}
  select table_name, problem, details, failures from (
    select '' as table_name, '' as problem, '' as details, 0 as failures where false
  {%- for row in run_query('check materialized table ' ~ relation ~ ' ' ~ what).rows %}
    union all select {{ dbt_materialized_table.text(row[0]) }}, {{ dbt_materialized_table.text(row[1]) }}, {{ dbt_materialized_table.text(row[2]) }}, {{ row[3] }}
  {%- endfor %}
  ) as found
{%- endmacro -%}
