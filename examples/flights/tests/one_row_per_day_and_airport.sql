select ds, origin, count(*) as copies
from {{ ref('daily_report') }}
group by ds, origin
having count(*) > 1
