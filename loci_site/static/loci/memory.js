/* The graph on a memory's page: its neighbours, expanded on demand. */

import { askJson } from "./asking.js";
import { Graph } from "./graph.js";

const t = window.lociText;
const host = document.querySelector("[data-graph]");
const status = document.querySelector("[data-graph-status]");
const pattern = host.dataset.url;
const own = pattern.match(/[0-9a-f-]{36}/)[0];

const around = (id) => askJson(pattern.replace(own, id));
const graph = new Graph(host, { expand: (node) => around(node.id), label: host.dataset.label });
const DO = { in: () => graph.zoom(1.25, host.clientWidth / 2, host.clientHeight / 2), out: () => graph.zoom(0.8, host.clientWidth / 2, host.clientHeight / 2), fit: () => graph.arrange() };

document.querySelector(".graph-bar").addEventListener("click", (event) => {
  const button = event.target.closest("[data-graph-do]");
  if (button) DO[button.dataset.graphDo]();
});
host.addEventListener("graph:select", ({ detail }) => { if (detail.node) status.textContent = detail.node.label; });
host.addEventListener("graph:expand", ({ detail }) => {
  status.textContent = detail.added ? t("{added} more: {nodes} memories, {edges} edges.", { added: detail.added, nodes: graph.nodes.size, edges: graph.edges.size }) : t("No further neighbours.");
});
host.addEventListener("graph:fault", ({ detail }) => { status.textContent = detail.fault.message; });

async function start() {
  try {
    const found = await around(host.dataset.id);
    graph.add({ ...found, nodes: found.nodes.map((node) => ({ ...node, main: node.id === host.dataset.id })) });
    host.dataset.ready = "true";
  } catch (fault) {
    status.textContent = fault.message;
  }
}

// A picture in a closed fold has no size: it is drawn when it is opened.
const fold = host.closest("details");
if (fold.open) start();
else fold.addEventListener("toggle", start, { once: true });
