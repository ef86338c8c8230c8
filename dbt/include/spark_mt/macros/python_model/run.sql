{#- A Python model: its code leaves a temporary view, and SQL writes from that.

   dbt lets Python be submitted by a materialization only, not by a macro that it calls. -#}
{%- macro python_model_code(compiled_code, view) -%}
{{ compiled_code }}

# dbt-spark-mt gives the code `spark`, the session of this model, and `to_temp_view`
to_temp_view(model(dbtObj(spark.table), spark), {{ view.identifier | tojson }})
{%- endmacro -%}


{%- macro python_model_view() -%}
  {%- set view = this.incorporate(path={'identifier': this.identifier ~ '__dbt_tmp'}, type='view') -%}
  {{ return(view.include(database=false, schema=false)) }}
{%- endmacro -%}
