{{ config(materialized='materialized_table', freshness='3 minutes') }}
select sum(price) as price from {{ ref('by_city') }}
