/* The graph page: the picture of graph.js with filters, the table beside it, and merging two memories. */

import { Graph } from "./graph.js";
import { Panel } from "./graph_panel.js";

const t = window.lociText;

const host = document.getElementById("graph");
const find = (id) => document.getElementById(id);

if (host) {
  const status = find("graph-said");
  const mark = find("graph-mark");
  const panel = new Panel(find("graph-panel"));
  const rows = find("graph-table").tBodies[0];
  let selected = null;
  let marked = null;

  const graph = new Graph(host, { expand, click: () => {}, label: t("Relations") });
  graph.add(JSON.parse(find("graph-data").textContent));
  const DO = {
    in: () => graph.zoom(1.25, host.clientWidth / 2, host.clientHeight / 2),
    out: () => graph.zoom(0.8, host.clientWidth / 2, host.clientHeight / 2),
    fit: () => graph.arrange(),
    expand: () => graph.expand(selected.id),
    memories: showMemories,
  };
  document.querySelectorAll("[data-graph-do]").forEach((button) => button.addEventListener("click", () => DO[button.dataset.graphDo]()));

  async function read(node, memories) {
    const query = new URLSearchParams({ of: node.id, predicate: host.dataset.predicate, memories });
    const response = await fetch(`${host.dataset.around}?${query}`);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.message);
    answer.edges.filter((edge) => !graph.edges.has(edge.id)).forEach((edge) => addRow(edge, answer.nodes));
    return answer;
  }

  function expand(node) {
    return read(node, "");
  }

  /* The memories that prove, are linked to or name the chosen node, as nodes around it. */
  async function showMemories() {
    const node = selected;
    try {
      const found = await read(node, "1");
      const added = graph.add(found, node.id);
      const count = found.nodes.length - 1;
      const values = { count, label: node.label };
      if (!count) status.textContent = t("No memory proves or names {label}.", values);
      else if (added) status.textContent = t(count === 1 ? "{count} memory behind {label}." : "{count} memories behind {label}.", values);
      else status.textContent = t(count === 1 ? "{count} memory behind {label}, in the picture." : "{count} memories behind {label}, all in the picture.", values);
      if (selected === node) panel.showNode(node, graph);
    } catch (fault) {
      status.textContent = fault.message;
    }
  }

  function addRow(edge, nodes) {
    const [from, to] = [edge.from, edge.to].map((id) => nodes.find((node) => node.id === id));
    const row = rows.insertRow();
    row.dataset.edge = edge.id;
    const head = document.createElement("th");
    head.scope = "row";
    head.append(link(from.label, from.url, "play-text"));
    const predicate = document.createElement("td");
    predicate.append(link(edge.predicate, edge.url, "loci-link"));
    const object = document.createElement("td");
    object.append(link(to.label, to.url, "play-text"));
    const confidence = document.createElement("td");
    confidence.className = "play-number";
    confidence.textContent = edge.confidence === null ? "" : edge.confidence.toFixed(2);
    row.append(head, predicate, object, confidence);
  }

  function link(text, href, kind) {
    const made = document.createElement("a");
    made.href = href;
    made.className = kind;
    made.textContent = text;
    return made;
  }

  host.addEventListener("graph:select", ({ detail }) => {
    selected = detail.node;
    panel.showNode(selected, graph);
    setButtons();
  });
  host.addEventListener("graph:edge", ({ detail }) => {
    selected = null;
    panel.showEdge(detail.edge, graph);
    setButtons();
  });
  host.addEventListener("graph:expand", ({ detail }) => {
    if (selected === detail.node) panel.showNode(selected, graph);
    status.textContent = detail.added ? t("{added} more nodes and edges around {label}.", { added: detail.added, label: detail.node.label }) : t("Nothing more is related to {label}.", { label: detail.node.label });
  });
  host.addEventListener("graph:fault", ({ detail }) => { status.textContent = detail.fault.message; });

  function setButtons() {
    document.querySelectorAll("[data-graph-node]").forEach((button) => { button.hidden = !selected; });
  }

  document.querySelectorAll("[data-graph-type]").forEach((box) => box.addEventListener("change", () => {
    const seen = new Set([...document.querySelectorAll("[data-graph-type]:checked")].map((one) => one.dataset.graphType));
    graph.filter((node) => seen.has(node.kind));
    [...rows.rows].forEach((row) => { const edge = graph.edges.get(row.dataset.edge); row.hidden = Boolean(edge && edge.isHidden); });
  }));

  /* Merging: the page that merges the node marked first into the second. */
  if (mark) {
    mark.addEventListener("click", choose);
    host.addEventListener("keydown", (event) => { if (event.key === "m" && !event.ctrlKey && !event.metaKey) choose(); });
  }

  function choose() {
    if (!selected) return;
    if (marked && marked.id !== selected.id) {
      window.location.assign(`${new URL("../merge/", new URL(marked.url, window.location))}?other=${selected.id}`);
      return;
    }
    marked = selected;
    marked.element.classList.add("graph-marked");
    status.textContent = t("{label} is marked. Now mark the node it should be merged into.", { label: marked.label });
  }
}
