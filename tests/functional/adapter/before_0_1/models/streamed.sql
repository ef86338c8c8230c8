{{ config(materialized='materialized_table', freshness='30 seconds') }}
select * from {{ source('shop', 'orders') }} where price > 5
