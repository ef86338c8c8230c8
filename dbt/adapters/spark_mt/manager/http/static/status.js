// Keeps the status page current, draws the lineage and the chart of a table, and presses buttons
// without leaving the page. Everything works without it, too, but is not updated.
import { Idiomorph } from "./vendor/idiomorph.esm.js";

const PATIENCE_MS = 15000;
const TYPING_MS = 250;
const main = document.getElementById("main");
const every = Number(main.dataset.refreshSeconds) * 1000;
let paused = false;
let reachedAt = new Date();
let timer = 0;
let asked = 0;

const at = (date) => `${date.toISOString().slice(11, 19)} UTC`;

// What a reader did to the page stays: open details, what was typed, and what is marked data-keep.
const KEEP = {
  ignoreActiveValue: true,
  callbacks: {
    beforeNodeMorphed: (node) => !(node.nodeType === Node.ELEMENT_NODE && "keep" in node.dataset),
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
  },
};

async function load(address, options = {}) {
  const response = await fetch(address, {
    headers: { accept: "text/html" },
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...options,
  });
  if (response.redirected && new URL(response.url).pathname === "/login") await leave(response.url);
  if (response.status === 401) await leave(`/login?next=${encodeURIComponent(location.pathname)}`);
  return response;
}

// Goes to another page; what waits for it goes no further.
function leave(address) {
  location.assign(address);
  return new Promise(() => {});
}

const parsed = async (response) =>
  new DOMParser().parseFromString(await response.text(), "text/html");

async function renew() {
  clearTimeout(timer);
  const mine = ++asked;
  try {
    const response = await load(location.href);
    // 404 is an answer as well: the table was dropped.
    if (!response.ok && response.status !== 404) throw new Error(`it answers ${response.status}`);
    const page = await parsed(response);
    if (mine !== asked) return;
    show(page);
    reached();
  } catch (problem) {
    if (mine === asked) unreachable(problem);
  } finally {
    if (mine === asked) later();
  }
}

function show(page) {
  for (const id of ["main", "footer"]) {
    Idiomorph.morph(document.getElementById(id), page.getElementById(id), KEEP);
  }
  document.title = page.title;
  draw();
}

function later() {
  clearTimeout(timer);
  if (!paused && !document.hidden) timer = setTimeout(renew, every);
}

function reached() {
  reachedAt = new Date();
  document.getElementById("connection").hidden = true;
  document.getElementById("updated").textContent = `Updated ${at(reachedAt)}`;
}

function unreachable(problem) {
  const notice = document.getElementById("connection");
  const why = problem.message.startsWith("it answers") ? ` (${problem.message})` : "";
  const text = `The manager is not reachable since ${at(reachedAt)}${why}. What you see is from then.`;
  if (notice.textContent !== text) notice.textContent = text;
  notice.hidden = false;
}

function pausing() {
  const button = document.getElementById("pause");
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    if (paused) clearTimeout(timer);
    else renew();
  });
}

// The address says what the list shows, so a search is a change of the address.
function searching() {
  let typing = 0;
  const search = (form) => {
    const fields = [...new FormData(form)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(fields).toString();
    history.replaceState(null, "", query ? `/?${query}` : "/");
    renew();
  };
  document.addEventListener("input", (event) => {
    if (event.target.id !== "q") return;
    clearTimeout(typing);
    typing = setTimeout(() => search(event.target.form), TYPING_MS);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "search") return;
    event.preventDefault();
    clearTimeout(typing);
    search(event.target);
  });
  const box = document.getElementById("q");
  if (box && box.value !== box.defaultValue) search(box.form); // typed before this ran
}

function pressing() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches(".act, .plan")) return;
    event.preventDefault();
    press(form, document.getElementById(form.dataset.outcome ?? "outcome"));
  });
}

async function press(form, place) {
  const button = form.querySelector("button");
  // A renewal of the page would enable the button again.
  form.dataset.keep = "";
  button.disabled = true;
  place.replaceChildren(`${button.textContent}: in progress …`);
  try {
    const response = await load(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      signal: undefined,
    });
    const outcome = (await parsed(response)).getElementById("outcome");
    place.replaceChildren(outcome ? unnamed(outcome) : `It answers ${response.status}.`);
  } catch {
    place.replaceChildren("The manager did not answer: whether it was done shows when it is back.");
  } finally {
    button.disabled = false;
    delete form.dataset.keep;
    renew();
  }
}

function unnamed(element) {
  element.removeAttribute("id");
  return element;
}

// Libraries are fetched only where something is to be drawn. What was asked for last is drawn,
// whichever import ends first.
let drawnLineage = "";
let drawnChart = "";

async function draw() {
  await Promise.all([drawGraph(), drawChart()]);
}

async function drawGraph() {
  const place = document.getElementById("graph");
  const items = [...document.querySelectorAll("#lineage-list li")];
  if (!place || items.length === 0) return;
  const nodes = items.map((item) => ({ ...item.dataset, reads: JSON.parse(item.dataset.reads) }));
  const wanted = JSON.stringify(nodes);
  if (wanted === drawnLineage && place.firstChild) return;
  drawnLineage = wanted;
  const { drawLineage } = await import("./lineage.js");
  if (wanted !== drawnLineage) return;
  drawLineage(place, nodes);
}

async function drawChart() {
  const place = document.getElementById("chart");
  const rows = [...document.querySelectorAll("#history tbody tr")].reverse();
  if (!place || rows.length === 0) return;
  const refreshes = rows.map((row) => ({ ...row.dataset }));
  const wanted = JSON.stringify(refreshes);
  if (wanted === drawnChart && place.firstChild) return;
  drawnChart = wanted;
  const { drawRefreshes } = await import("./chart.js");
  if (wanted !== drawnChart) return;
  drawRefreshes(place, refreshes);
}

function begin() {
  document.documentElement.classList.add("scripted");
  pausing();
  searching();
  pressing();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else if (!paused) renew();
  });
  addEventListener("popstate", renew);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    drawnChart = "";
    draw();
  });
  reached();
  draw();
  later();
}

begin();
