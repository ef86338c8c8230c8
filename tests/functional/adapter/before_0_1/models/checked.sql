{{ config(materialized='materialized_table', freshness='1 day') }}
select id, code, price from {{ source('shop', 'orders') }}
