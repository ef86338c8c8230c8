"""Whatever happens to a scheduler: no partition is left out, and nothing is run twice."""

from datetime import timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.spark_mt.planning.schedule import Schedule, scheduled_partitions
from dbt.adapters.spark_mt.resolution.time_zones import parse_zone
from tests.support.schedules import due
from tests.unit.scheduler.simulation import Freshness, now, world

ZONE = "Europe/Berlin"
HOURS = (("ds", "yyyy-MM-dd"), ("h", "HH"))
TABLES = {"plain": (), "parts": HOURS}
EVENTS = st.one_of(
    st.tuples(st.just("pass"), st.integers(1, 400)),
    st.tuples(st.just("sleep"), st.integers(1, 400)),
    st.tuples(st.sampled_from(["suspend", "resume", "restart", "again"]), st.just(0)),
)


class Story:
    """Two tables of one freshness, and what happens to them."""

    def __init__(self, life, freshness):
        self.life = life
        self.freshness = freshness
        self.began = now()
        self.handlers = {}
        self.again()

    def again(self, _minutes=0):
        """What a manager does that looks at the tables: its log knows what was run last."""
        for name, formatters in TABLES.items():
            runs = [run.scheduled_at for run in self.life.runs if run.table == name]
            self.handlers[name] = self.life.create(
                name,
                self.freshness,
                ZONE,
                formatters=formatters,
                last_scheduled_at=max(runs, default=self.began),
            )

    def restart(self, _minutes):
        self.life.restart()
        self.again()

    def suspend(self, _minutes):
        for handler in self.handlers.values():
            self.life.suspend(handler)

    def resume(self, _minutes):
        self.again()

    def sleep(self, minutes):
        self.life.traveller.shift(timedelta(minutes=minutes))

    def passing(self, minutes):
        end = now() + timedelta(minutes=minutes)
        self.life.live_until(f"{end:%Y-%m-%d %H:%M:%S}")


@settings(max_examples=60)
@given(
    freshness=st.sampled_from(["20 minutes", "40 minutes", "1 hour", "2 hours", "90 minutes"]),
    start=st.sampled_from(["2025-03-29 20:10", "2025-10-25 20:10"]),
    events=st.lists(EVENTS, max_size=12),
)
def test_nothing_is_left_out_and_nothing_runs_twice(freshness, start, events):
    with world(start) as life:
        story = Story(life, freshness)
        for name, minutes in events:
            getattr(story, "passing" if name == "pass" else name)(minutes)
        story.resume(0)
        story.passing(1)
        plan = Schedule(Freshness.parse(freshness), ZONE)
        expected = list(due(plan, story.began, now()))
    runs = {name: [r.scheduled_at for r in life.runs if r.table == name] for name in TABLES}
    for scheduled in runs.values():
        assert all(older < newer for older, newer in pairwise(scheduled))
        assert set(scheduled) <= set(expected)
        assert scheduled[-1:] == expected[-1:]
    assert all(run.at >= run.scheduled_at for run in life.runs)

    def written(times):
        zone = parse_zone(ZONE)
        sets = [scheduled_partitions(dict(HOURS), t, plan.freshness, zone) for t in times]
        return set().union(*sets)

    assert written(runs["parts"]) == written(expected)
