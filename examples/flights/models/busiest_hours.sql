select
    origin,
    hour(time_hour) as hour_of_day,
    sum(departures) as departures,
    round(
        sum(mean_delay * departures) / sum(departures) filter (where mean_delay is not null), 1
    ) as mean_delay
from {{ ref('hourly_departures') }}
group by origin, hour(time_hour)
