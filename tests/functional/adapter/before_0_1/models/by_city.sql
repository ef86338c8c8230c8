{{ config(materialized='materialized_table', freshness='1 minute', incremental='strict', cluster_by=['city']) }}
select city, count(*) as orders, sum(price) as price, max(price) as dearest
from {{ source('shop', 'orders') }} group by city
