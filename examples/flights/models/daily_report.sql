{{ config(
    freshness='1 day',
    partition_by=['ds'],
    options={'partition.fields.ds.date-formatter': 'yyyy-MM-dd'},
) }}

select
    origin,
    count(*) as scheduled,
    count_if(dep_time is null) as cancelled,
    round(100 * avg(case when dep_delay <= 15 then 1 else 0 end), 1) as punctual_percent,
    date_format(make_date(year, month, day), 'yyyy-MM-dd') as ds
from {{ source('landing', 'flights') }}
group by origin, year, month, day
