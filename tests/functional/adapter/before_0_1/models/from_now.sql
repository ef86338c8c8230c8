{{ config(materialized='materialized_table', freshness='1 minute', start_mode='from_now') }}
select id, price from {{ source('shop', 'orders') }}
