// Draws how long the newest refreshes of a table took, with uPlot.
import uPlot from "./vendor/uPlot.esm.js";

const HEIGHT = 200;
// Steps of the axis, in seconds, that are round as durations.
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 36000, 86400];
let chart = null;
let observer = null;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function inWords(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 90) return `${Number(seconds.toFixed(1))} s`;
  return seconds < 5400 ? `${Number((seconds / 60).toFixed(1))} min` : `${Number((seconds / 3600).toFixed(1))} h`;
}

// Each kind of ending is a series of its own, so that it has a name in the legend.
function series(refreshes) {
  const took = (status) =>
    refreshes.map((r) => (status.includes(r.status) && r.seconds !== "" ? Number(r.seconds) : null));
  return [
    refreshes.map((_, position) => position),
    took(["FINISHED", "SKIPPED", "CANCELED"]),
    took(["FAILED"]),
  ];
}

// In UTC, like every time on the page.
const moment = (refresh) => {
  const [day, time] = new Date(Number(refresh.started)).toISOString().split("T");
  const today = new Date().toISOString().startsWith(day);
  return today ? time.slice(0, 5) : `${day.slice(5)} ${time.slice(0, 5)}`;
};

function options(width, refreshes) {
  const text = colour("--muted");
  const grid = { stroke: colour("--line"), width: 1 };
  const bars = uPlot.paths.bars({ size: [0.7, 24] });
  const about = (position) => refreshes[position];
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false, range: [-0.6, Math.max(refreshes.length, 10) - 0.4] }, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
    cursor: { drag: { x: false, y: false } },
    axes: [
      {
        stroke: text, grid: { show: false }, ticks: grid, space: 90,
        incrs: [1, 2, 5, 10, 20, 50],
        values: (_, ticks) => ticks.map((tick) => (about(tick) ? moment(about(tick)) : "")),
      },
      { stroke: text, grid, ticks: grid, size: 64, incrs: STEPS, values: (_, ticks) => ticks.map(inWords) },
    ],
    series: [
      { label: "Started (UTC)", value: (_, position) => (about(position) ? moment(about(position)) : "–") },
      { label: "Took", fill: colour("--bar"), width: 0, paths: bars, points: { show: false }, value: (_, v) => inWords(v) },
      { label: "✕ Failed after", stroke: colour("--late"), width: 2, dash: [3, 3], paths: bars, points: { show: false }, value: (_, v) => inWords(v) },
    ],
  };
}

// refreshes: {started, seconds, status, rows}, as texts, the oldest first
export function drawRefreshes(place, refreshes) {
  place.hidden = false;
  chart?.destroy();
  observer?.disconnect();
  chart = new uPlot(options(place.clientWidth, refreshes), series(refreshes), place);
  observer = new ResizeObserver(() => {
    if (place.clientWidth && place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: HEIGHT });
  });
  observer.observe(place);
}
