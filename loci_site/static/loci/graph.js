/* A graph of memories in SVG: each node is an element that takes the focus and has a name for screen readers. graph_layout.js
   says where nodes stand, graph_labels.js which labels are shown, graph_input.js what mouse and keys do. Nothing is inline, so
   a strict content security policy holds.

   const graph = new Graph(host, {expand, click, open, label})
     host    an element; the graph fills it
     expand  async (node) => {nodes, edges}: called when a node is expanded; null: nodes are not expandable
     click   (node) => void: called for a click; null: it expands the node
     open    (node) => void: called for the node's page (double click or "o"); null: follows node.url
     label   name of the graph for screen readers
   graph.add({nodes: [{id, label, kind, url, faded, main}], edges: [{id, from, to, label, kind}]}, from)
     existing nodes and edges are kept; new nodes start beside the node with the id `from`
   graph.fit()  graph.arrange()  graph.filter((node) => seen, (edge) => seen)  graph.focus(id)
   graph.nodes  graph.edges
   Events on the host, each with `detail`: "graph:select" {node} (null: nothing), "graph:edge" {edge}, "graph:expand"
   {node, added}, "graph:fault" {fault}.

   Keys on a node: arrows move to the next node in that direction, Enter or space expands, "o" opens, "+", "-" and "0" zoom. */

import { listen } from "./graph_input.js";
import { placeLabels, widthOf } from "./graph_labels.js";
import { Layout } from "./graph_layout.js";

const SVG = "http://www.w3.org/2000/svg";
const LABEL = 26; // characters
const MANY = 40; // nodes; above this, pointing at one hides the labels of those that are not beside it
const EDGE_LABELS = 120; // edges; above this, an edge's label is shown when one points at it
const FAR = 0.75; // how small nodes may be drawn before lines get thinner and lose their tips
const NODE_SIZE = 12; // of the text, in pixels
const EDGE_SIZE = 11;

export class Graph {
  constructor(host, { expand = null, click = null, open = null, label = "Graph" } = {}) {
    this.host = host;
    this.expandWith = expand;
    this.click = click || ((node) => this.expand(node.id));
    this.openWith = open || ((node) => node.url && window.location.assign(node.url));
    this.nodes = new Map();
    this.edges = new Map();
    this.view = { x: 0, y: 0, scale: 1 };
    this.isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.sees = { node: () => true, edge: () => true };
    this.layout = new Layout(() => (this.isMoved ? this.place() : this.fit()));
    this.#draw(label);
    listen(this);
  }

  add({ nodes = [], edges = [] }, from = null) {
    const isFirst = !this.nodes.size;
    const origin = this.nodes.get(from);
    const fresh = nodes.filter((node) => !this.nodes.has(node.id));
    fresh.forEach((node, at) => this.#addNode(node, origin, at));
    let added = fresh.length;
    for (const edge of edges) {
      if (!this.edges.has(edge.id) && this.nodes.has(edge.from) && this.nodes.has(edge.to)) {
        this.#addEdge(edge);
        added += 1;
      }
    }
    this.#spreadParallels();
    this.#change(isFirst ? 1 : 0.6, { atOnce: isFirst });
    return added;
  }

  filter(node, edge = () => true) {
    this.sees = { node, edge };
    this.#change(0.5);
  }

  fit() {
    const seen = this.#seen();
    if (!seen.length) return;
    const xs = seen.map((node) => node.x);
    const ys = seen.map((node) => node.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const { width, height } = this.size();
    const across = (width - Math.min(150, width * 0.3)) / Math.max(1, right - left);
    const scale = Math.min(1.25, Math.max(0.05, Math.min(across, (height - 80) / Math.max(1, bottom - top))));
    this.fitted = scale;
    this.view = { scale, x: width / 2 - ((left + right) / 2) * scale, y: height / 2 - ((top + bottom) / 2) * scale };
    this.place();
  }

  /* Let go of what was dragged, and fit all into view. */
  arrange() {
    this.isMoved = false;
    for (const node of this.nodes.values()) node.fx = node.fy = null;
    this.#change(0.5);
  }

  focus(id) {
    const node = this.nodes.get(id);
    if (node) node.element.focus();
  }

  async expand(id) {
    const node = this.nodes.get(id);
    if (!node || !this.expandWith || node.isAsking) return;
    node.isAsking = true;
    node.element.setAttribute("aria-busy", "true");
    try {
      const added = this.add(await this.expandWith(node), id);
      node.isExpanded = true;
      node.element.classList.add("graph-expanded");
      this.#name(node);
      this.tell("expand", { node, added });
    } catch (fault) {
      this.tell("fault", { fault });
    } finally {
      node.isAsking = false;
      node.element.removeAttribute("aria-busy");
    }
  }

  /* One node is chosen, or none. Only that one is a stop of the Tab key; arrows lead to the others. */
  select(node) {
    for (const one of [this.chosen, node]) if (one) one.element.setAttribute("tabindex", one === node ? 0 : -1);
    if (this.stop && this.stop !== node) this.stop.element.setAttribute("tabindex", node ? -1 : 0);
    if (node) this.stop = node;
    this.chosen = node;
    this.#light();
    this.tell("select", { node });
  }

  /* Point at a node or an edge: it and what it touches stand out. */
  light(pointed) {
    if (this.pointed === pointed) return;
    this.pointed = pointed;
    this.#light();
  }

  drag(node, dx, dy) {
    this.isMoved = true;
    node.x += dx / this.view.scale;
    node.y += dy / this.view.scale;
    // It stays where it was put.
    [node.fx, node.fy] = [node.x, node.y];
    if (this.isStill) this.place();
    else this.layout.animate(0.15);
  }

  pan(dx, dy) {
    this.isMoved = true;
    this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
    this.place();
  }

  zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.05, this.view.scale * factor));
    const by = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by };
    this.isMoved = true;
    this.place();
  }

  /* Move the view if a node is outside it. */
  show(node) {
    const { width, height } = this.size();
    const at = this.#onScreen(node);
    const [dx, dy] = [Math.min(width - 60, Math.max(60, at.x)) - at.x, Math.min(height - 40, Math.max(40, at.y)) - at.y];
    if (dx || dy) this.pan(dx, dy);
  }

  size() {
    return { width: this.host.clientWidth || 600, height: this.host.clientHeight || 360 };
  }

  tell(what, detail) {
    this.host.dispatchEvent(new CustomEvent(`graph:${what}`, { detail, bubbles: true }));
  }

  nodeOf(target) {
    const element = target.closest ? target.closest("[data-node]") : null;
    return element ? this.nodes.get(element.dataset.node) : null;
  }

  edgeOf(target) {
    const element = target.closest ? target.closest("[data-edge]") : null;
    return element ? this.edges.get(element.dataset.edge) : null;
  }

  /* Put everything where the layout and the view say. Texts and circles keep their size, however far the view is. */
  place() {
    const { width, height } = this.size();
    const zoomed = Math.max(1, this.view.scale / (this.fitted || 1));
    const shrunk = Math.max(0.3, Math.min(1, (Math.sqrt((width * height) / Math.max(1, this.nodes.size)) / 60) * zoomed));
    this.svg.classList.toggle("graph-far", shrunk < FAR);
    for (const node of this.nodes.values()) {
      node.at = this.#onScreen(node);
      node.radius = (node.main ? 12 : 6 + Math.min(5, 1.4 * Math.sqrt(node.edgeCount))) * shrunk;
      node.element.setAttribute("transform", `translate(${node.at.x.toFixed(1)} ${node.at.y.toFixed(1)})`);
      node.circle.setAttribute("r", node.radius.toFixed(1));
    }
    for (const edge of this.edges.values()) this.#placeEdge(edge);
    this.#placeLabels();
  }

  #placeEdge(edge) {
    const [one, other] = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
    const dx = other.at.x - one.at.x;
    const dy = other.at.y - one.at.y;
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const bend = edge.bend * Math.min(1, this.view.scale + 0.2);
    const start = { x: one.at.x + ux * (one.radius + 2), y: one.at.y + uy * (one.radius + 2) };
    const end = { x: other.at.x - ux * (other.radius + 5), y: other.at.y - uy * (other.radius + 5) };
    const middle = { x: (one.at.x + other.at.x) / 2 - uy * bend, y: (one.at.y + other.at.y) / 2 + ux * bend };
    edge.points = [start, middle, end];
    const path = `M${start.x.toFixed(1)} ${start.y.toFixed(1)} Q${middle.x.toFixed(1)} ${middle.y.toFixed(1)} ${end.x.toFixed(1)} ${end.y.toFixed(1)}`;
    for (const line of edge.lines) line.setAttribute("d", path);
  }

  #placeLabels() {
    const isCrowded = this.#seen().length > MANY;
    const lit = this.litNodes;
    const nodes = this.#seen().sort((one, other) => other.isLit - one.isLit || (other.main || 0) - (one.main || 0) || other.edgeCount - one.edgeCount);
    for (const node of nodes) node.isThere = node.isLabelled = !lit || node.isLit || !isCrowded;
    const edges = [...this.edges.values()].filter((edge) => !edge.isHidden).sort((one, other) => other.isLit - one.isLit);
    for (const edge of edges) edge.isLabelled = Boolean(edge.text.textContent) && (lit && isCrowded ? edge.isLit : edge.isLit || edges.length <= EDGE_LABELS);
    placeLabels(nodes, edges, this.size());
    for (const one of [...nodes, ...edges]) {
      one.text.toggleAttribute("hidden", !one.spot);
      if (!one.spot) continue;
      one.text.setAttribute("x", one.spot.x.toFixed(1));
      one.text.setAttribute("y", one.spot.y.toFixed(1));
      one.text.setAttribute("text-anchor", one.spot.anchor);
    }
  }

  #light() {
    const from = this.pointed || this.chosen;
    const ends = from && from.from ? [this.nodes.get(from.from), this.nodes.get(from.to)] : null;
    this.litNodes = from ? new Set(ends || [from]) : null;
    for (const edge of this.edges.values()) {
      edge.isLit = Boolean(from) && (ends ? edge === from : edge.from === from.id || edge.to === from.id);
      if (edge.isLit && !ends) for (const id of [edge.from, edge.to]) this.litNodes.add(this.nodes.get(id));
      edge.element.classList.toggle("graph-lit", edge.isLit);
    }
    for (const node of this.nodes.values()) {
      node.isLit = Boolean(this.litNodes && this.litNodes.has(node));
      node.element.classList.toggle("graph-lit", node.isLit);
    }
    this.svg.classList.toggle("graph-has-lit", Boolean(from));
    this.place();
  }

  #draw(label) {
    this.host.classList.add("graph");
    this.svg = make("svg", { class: "graph-picture", role: "group", "aria-label": label });
    const tip = make("marker", { id: `tip-${Math.random().toString(36).slice(2)}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse", class: "graph-tip" });
    tip.append(make("path", { d: "M0 1 L9 5 L0 9 z" }));
    const defs = make("defs");
    defs.append(tip);
    this.tip = `url(#${tip.id})`;
    this.edgeLayer = make("g", { "aria-hidden": "true" });
    this.nodeLayer = make("g");
    this.svg.append(defs, this.edgeLayer, this.nodeLayer);
    this.host.append(this.svg);
  }

  #addNode(given, origin, at) {
    const node = { ...given, edgeCount: 0, isLit: false };
    if (origin) {
      // Fixed angles, not random ones: the same graph always looks the same.
      const angle = at * 2.4 + 0.5;
      [node.x, node.y] = [origin.x + Math.cos(angle) * (40 + 4 * at), origin.y + Math.sin(angle) * (40 + 4 * at)];
    }
    const isStop = !this.nodes.size;
    const element = make("g", { class: `graph-node graph-is-${given.kind || "plain"}`, tabindex: isStop ? 0 : -1, role: "button" });
    if (isStop) this.stop = node;
    if (given.faded) element.classList.add("graph-faded");
    if (given.main) element.classList.add("graph-main");
    node.circle = make("circle");
    const title = make("title");
    title.textContent = given.label;
    node.text = make("text");
    node.text.textContent = short(given.label);
    node.labelWidth = widthOf(node.text.textContent, NODE_SIZE);
    element.append(node.circle, title, node.text);
    node.element = element;
    element.dataset.node = given.id;
    this.nodeLayer.append(element);
    this.nodes.set(given.id, node);
    this.#name(node);
  }

  #name(node) {
    const values = { kind: window.lociText.word(node.kind || "memory"), label: node.label };
    const isFolded = this.expandWith && !node.isExpanded;
    node.element.setAttribute("aria-label", window.lociText(isFolded ? "{kind}: {label}, press Enter to expand" : "{kind}: {label}", values));
  }

  #addEdge(given) {
    const edge = { ...given, bend: 0, isLit: false };
    edge.element = make("g", { class: `graph-edge graph-is-${given.kind || "plain"}` });
    edge.element.dataset.edge = given.id;
    edge.lines = [make("path", { class: "graph-hit", fill: "none" }), make("path", { class: "graph-line", "marker-end": this.tip, fill: "none" })];
    edge.text = make("text");
    edge.text.textContent = short(given.label || "");
    edge.labelWidth = widthOf(edge.text.textContent, EDGE_SIZE);
    edge.element.append(...edge.lines, edge.text);
    this.edgeLayer.append(edge.element);
    this.edges.set(given.id, edge);
  }

  #spreadParallels() {
    const pairs = new Map();
    for (const edge of this.edges.values()) {
      const pair = [edge.from, edge.to].sort().join(" ");
      pairs.set(pair, [...(pairs.get(pair) || []), edge]);
    }
    for (const same of pairs.values()) {
      same.forEach((edge, at) => {
        const turn = edge.from < edge.to ? 1 : -1;
        edge.bend = (at - (same.length - 1) / 2) * 44 * turn;
      });
    }
  }

  /* After nodes, edges or the filter changed: hide what is filtered out, and lay out the rest. */
  #change(heat, { atOnce = this.isStill } = {}) {
    for (const node of this.nodes.values()) {
      node.isHidden = !this.sees.node(node);
      node.element.toggleAttribute("hidden", node.isHidden);
      node.edgeCount = 0;
    }
    for (const edge of this.edges.values()) {
      const ends = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
      edge.isHidden = !this.sees.edge(edge) || ends.some((end) => end.isHidden);
      edge.element.toggleAttribute("hidden", edge.isHidden);
      for (const end of edge.isHidden ? [] : ends) end.edgeCount += 1;
    }
    if (!this.nodes.has(this.stop?.id) || this.stop.isHidden) {
      this.stop = this.#seen()[0];
      if (this.stop) this.stop.element.setAttribute("tabindex", 0);
    }
    this.layout.set(this.#seen(), [...this.edges.values()].filter((edge) => !edge.isHidden), this.size());
    if (atOnce) {
      this.layout.settle();
      if (!this.isMoved) this.fit();
    } else this.layout.animate(heat);
    this.#light();
  }

  #seen() {
    return [...this.nodes.values()].filter((node) => !node.isHidden);
  }

  #onScreen({ x, y }) {
    return { x: this.view.x + (x || 0) * this.view.scale, y: this.view.y + (y || 0) * this.view.scale };
  }
}

function make(name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function short(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > LABEL ? `${line.slice(0, LABEL - 1)}…` : line;
}
