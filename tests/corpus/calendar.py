"""The days of the calendar of TPC-DS, whose columns follow from the day."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

TABLE = "date_dim"
FIRST, DAYS = date(1998, 1, 1), 5 * 365 + 31
_DAY_0, _KEY_0 = date(1900, 1, 2), 2_415_022
_LONGEST = 28
_QUARTER = 3


@cache
def days() -> tuple[dict[str, object], ...]:
    """Return the days from 1998 on, with the values of their columns."""
    return tuple(_day(FIRST + timedelta(number)) for number in range(DAYS))


def _day(day: date) -> dict[str, object]:
    number = (day - _DAY_0).days
    month, quarter = (day.year - 1900) * 12 + day.month - 1, (day.month - 1) // _QUARTER + 1
    weekend = "Y" if day.isoweekday() > 5 else "N"
    first = day.replace(day=1)
    return {
        "d_date_sk": number + _KEY_0,
        "d_date_id": f"AAAAAAAA{number:08}",
        "d_date": day,
        "d_month_seq": month,
        "d_week_seq": number // 7 + 1,
        "d_quarter_seq": (day.year - 1900) * 4 + quarter - 1,
        "d_year": day.year,
        "d_dow": day.isoweekday() % 7,
        "d_moy": day.month,
        "d_dom": day.day,
        "d_qoy": quarter,
        "d_fy_year": day.year,
        "d_fy_quarter_seq": (day.year - 1900) * 4 + quarter - 1,
        "d_fy_week_seq": number // 7 + 1,
        "d_day_name": day.strftime("%A"),
        "d_quarter_name": f"{day.year}Q{quarter}",
        "d_holiday": "N",
        "d_weekend": weekend,
        "d_following_holiday": "N",
        "d_first_dom": (first - _DAY_0).days + _KEY_0,
        "d_last_dom": (first - _DAY_0).days + _KEY_0 + _LONGEST,
        "d_same_day_ly": number + _KEY_0 - 365,
        "d_same_day_lq": number + _KEY_0 - 91,
        "d_current_day": "N",
        "d_current_week": "N",
        "d_current_month": "N",
        "d_current_quarter": "N",
        "d_current_year": "N",
    }
