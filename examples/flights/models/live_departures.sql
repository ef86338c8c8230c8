{{ config(freshness='4 seconds') }}

select
    time_hour,
    origin,
    count(*) as departures,
    round(avg(dep_delay), 1) as mean_delay
from {{ source('landing', 'live_flights') }}
group by time_hour, origin
