{{ config(materialized='materialized_table', freshness='2 minutes', primary_key=['id'], incremental='strict') }}
select o.id, u.name, o.price from {{ source('shop', 'orders') }} as o
join {{ source('shop', 'users') }} as u on o.user_id = u.id
