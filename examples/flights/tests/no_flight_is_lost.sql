-- The hourly table must account for every flight that the wide table holds.
select wide.flights, hourly.flights as counted
from (select count(*) as flights from {{ ref('flights_wide') }}) as wide
cross join (select sum(departures) as flights from {{ ref('hourly_departures') }}) as hourly
where wide.flights <> hourly.flights
