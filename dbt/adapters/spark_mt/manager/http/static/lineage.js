// Draws the lineage: laid out by dagre, written as SVG whose boxes are links.
import { Graph, layout } from "./vendor/dagre.esm.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 190;
const HEIGHT = 46;
const LETTERS = 25;

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The end of a long name says more than its middle.
function shortened(text) {
  if (text.length <= LETTERS) return text;
  const end = Math.floor(LETTERS * 0.6);
  return `${text.slice(0, LETTERS - end - 1)}…${text.slice(-end)}`;
}

function laidOut(nodes) {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 48, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.node, { width: WIDTH, height: HEIGHT });
  for (const node of nodes) for (const read of node.reads) graph.setEdge(read, node.node);
  layout(graph);
  return graph;
}

// From the right side of one box to the left side of the other. What lies in columns between is
// passed at the height that the layout kept free for it.
function line(graph, edge, columns) {
  const from = graph.node(edge.v);
  const to = graph.node(edge.w);
  const end = { x: to.x - WIDTH / 2 - 2, y: to.y };
  let last = { x: from.x + WIDTH / 2, y: from.y };
  let path = `M${last.x} ${last.y}`;
  const curve = (next) => {
    const middle = (last.x + next.x) / 2;
    path += `C${middle} ${last.y} ${middle} ${next.y} ${next.x} ${next.y}`;
    last = next;
  };
  for (const point of graph.edge(edge).points.slice(1, -1)) {
    const column = columns.find((x) => Math.abs(x - point.x) < 4);
    if (column === undefined || column < last.x || column > end.x) continue;
    curve({ x: column - WIDTH / 2, y: point.y });
    path += `h${WIDTH}`;
    last = { x: column + WIDTH / 2, y: point.y };
  }
  curve(end);
  return element("path", { class: "edge", d: path, "marker-end": "url(#arrow)" });
}

function box(node, place, current) {
  const corner = { x: place.x - WIDTH / 2, y: place.y - HEIGHT / 2 };
  const kind = node.node === current ? `${node.kind} current` : node.kind;
  const group = element(
    "g",
    { class: `node ${kind}`, transform: `translate(${corner.x} ${corner.y})` },
    element("title", {}, `${node.name}: ${node.says}`),
    element("rect", { width: WIDTH, height: HEIGHT, rx: 5 }),
    element("text", { x: 10, y: 19 }, shortened(node.name)),
    element("text", { x: 10, y: 36, class: "says" }, node.says),
  );
  if (!node.address || node.node === current) return group;
  return element("a", { href: node.address, "aria-label": `${node.name}, ${node.says}` }, group);
}

const arrow = () =>
  element(
    "defs",
    {},
    element(
      "marker",
      { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      element("path", { d: "M0 0L8 4L0 8z" }),
    ),
  );

// nodes: {node, name, says, kind, address, reads: [node]}
export function drawLineage(place, nodes) {
  const focused = document.activeElement?.closest("#graph a")?.getAttribute("href");
  const graph = laidOut(nodes);
  const { width, height } = graph.graph();
  const columns = [...new Set(nodes.map((node) => graph.node(node.node).x))];
  const edges = graph.edges().map((edge) => line(graph, edge, columns));
  const boxes = nodes.map((node) => box(node, graph.node(node.node), place.dataset.current));
  // What the page is about is in view at first; afterwards the reader scrolls.
  const current = place.hidden && place.dataset.current && graph.node(place.dataset.current);
  const { scrollLeft, scrollTop } = place;
  place.replaceChildren(
    element("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, arrow(), ...edges, ...boxes),
  );
  place.hidden = false;
  if (current) place.scrollTo(current.x - place.clientWidth / 2, current.y - place.clientHeight / 2);
  else place.scrollTo(scrollLeft, scrollTop);
  if (focused) place.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}
