{{ config(materialized='materialized_table', freshness='1 day', partition_by='day',
          tblproperties={'partition.fields.day.date-formatter': 'yyyy-MM-dd'}) }}
select day, sum(price) as price from {{ source('shop', 'orders') }} group by day
