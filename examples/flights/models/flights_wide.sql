{{ config(
    freshness='1 hour',
    cluster_by=['origin'],
    primary_key=['carrier', 'flight', 'origin', 'scheduled_hour'],
) }}

select
    f.carrier,
    f.flight,
    f.origin,
    f.time_hour as scheduled_hour,
    make_date(f.year, f.month, f.day) as flight_date,
    f.dest,
    f.dep_delay,
    f.arr_delay,
    f.dep_time is null as cancelled,
    l.name as airline,
    d.name as destination,
    p.manufacturer,
    p.model,
    p.seats,
    w.wind_speed,
    w.visib as visibility,
    w.precip as precipitation
from {{ source('landing', 'flights') }} as f
left join {{ source('landing', 'airlines') }} as l on l.carrier = f.carrier
left join {{ source('landing', 'airports') }} as d on d.faa = f.dest
left join {{ source('landing', 'planes') }} as p on p.tailnum = f.tailnum
left join {{ source('landing', 'weather') }} as w
    on w.origin = f.origin and w.time_hour = f.time_hour
