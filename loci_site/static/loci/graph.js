/* A graph of memories in SVG: drag, zoom, expand, and the keyboard. No library, nothing inline, so a strict content
   security policy holds.

   const graph = new Graph(host, {expand, open, label})
     host    an element; the graph fills it
     expand  async (node) => {nodes, edges}: called when a node is expanded; null: nodes are not expandable
     open    (node) => void: called for the node's page (double click or "o"); null: follows node.url
     label   name of the graph for screen readers
   graph.add({nodes: [{id, label, kind, url, faded, main}], edges: [{id, from, to, label, kind}]}, from)
     existing nodes and edges are kept; new nodes start beside the node with the id `from`
   graph.remove(ids)  graph.fit()  graph.filter((node) => seen, (edge) => seen)  graph.focus(id)  graph.nodes  graph.edges
   Events on the host, each with `detail`: "graph:select" {node}, "graph:expand" {node, added}, "graph:fault" {fault}.

   Keys on a node: arrows move to the next node in that direction, Enter or space expands, "o" opens, "+", "-" and "0" zoom. */

const SVG = "http://www.w3.org/2000/svg";
const LENGTH = 150; // of an edge at rest, in units of the picture
const PUSH = 9000; // repulsion between nodes
const PULL = 0.012; // towards the centre
const SPRING = 0.06;
const CALM = 0.04; // below this the layout stops
const LABEL = 26; // characters
const MANY = 400; // nodes; above this, repulsion counts only nearby nodes

export class Graph {
  constructor(host, { expand = null, open = null, label = "Graph" } = {}) {
    this.host = host;
    this.expandWith = expand;
    this.openWith = open || ((node) => node.url && window.location.assign(node.url));
    this.nodes = new Map();
    this.edges = new Map();
    this.view = { x: 0, y: 0, scale: 1 };
    this.isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.heat = 0;
    this.#draw(label);
    this.#listen();
  }

  add({ nodes = [], edges = [] }, from = null) {
    const origin = this.nodes.get(from) || { x: 0, y: 0 };
    const fresh = nodes.filter((node) => !this.nodes.has(node.id));
    fresh.forEach((node, at) => this.#addNode(node, origin, at, fresh.length));
    let added = fresh.length;
    for (const edge of edges) {
      if (!this.edges.has(edge.id) && this.nodes.has(edge.from) && this.nodes.has(edge.to)) {
        this.#addEdge(edge);
        added += 1;
      }
    }
    this.#spreadParallels();
    this.#warm(1);
    return added;
  }

  remove(ids) {
    for (const id of ids) {
      const node = this.nodes.get(id);
      if (!node) continue;
      node.element.remove();
      this.nodes.delete(id);
      for (const edge of [...this.edges.values()]) {
        if (edge.from === id || edge.to === id) {
          edge.element.remove();
          this.edges.delete(edge.id);
        }
      }
    }
    this.#warm(0.5);
  }

  filter(seesNode, seesEdge = () => true) {
    for (const node of this.nodes.values()) {
      node.isHidden = !seesNode(node);
      node.element.toggleAttribute("hidden", node.isHidden);
    }
    for (const edge of this.edges.values()) {
      const ends = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
      edge.isHidden = !seesEdge(edge) || ends.some((end) => end.isHidden);
      edge.element.toggleAttribute("hidden", edge.isHidden);
    }
    this.#warm(0.5);
  }

  fit() {
    const seen = [...this.nodes.values()].filter((node) => !node.isHidden);
    if (!seen.length) return;
    const xs = seen.map((node) => node.x);
    const ys = seen.map((node) => node.y);
    const [left, right, top, bottom] = [Math.min(...xs) - 100, Math.max(...xs) + 100, Math.min(...ys) - 50, Math.max(...ys) + 60];
    const { width, height } = this.#size();
    const scale = Math.min(1.25, Math.max(0.1, Math.min(width / (right - left), height / (bottom - top))));
    this.view = { scale, x: width / 2 - ((left + right) / 2) * scale, y: height / 2 - ((top + bottom) / 2) * scale };
    this.#place();
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
      this.#tell("expand", { node, added });
    } catch (fault) {
      this.#tell("fault", { fault });
    } finally {
      node.isAsking = false;
      node.element.removeAttribute("aria-busy");
    }
  }

  #draw(label) {
    this.host.classList.add("graph");
    this.svg = make("svg", { class: "graph-picture", role: "group", "aria-label": label });
    const tip = make("marker", { id: `tip-${Math.random().toString(36).slice(2)}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse", class: "graph-tip" });
    tip.append(make("path", { d: "M0 1 L9 5 L0 9 z" }));
    const defs = make("defs");
    defs.append(tip);
    this.tip = `url(#${tip.id})`;
    this.world = make("g");
    this.edgeLayer = make("g", { "aria-hidden": "true" });
    this.nodeLayer = make("g");
    this.world.append(this.edgeLayer, this.nodeLayer);
    this.svg.append(defs, this.world);
    this.host.append(this.svg);
  }

  #addNode(given, origin, at, count) {
    // Fixed angles, not random ones: the same graph always looks the same.
    const angle = (2 * Math.PI * at) / Math.max(1, count) + 0.5;
    const radius = this.nodes.size || origin.element ? LENGTH * (1 + 0.25 * (at % 3)) : 0;
    const node = { ...given, x: origin.x + Math.cos(angle) * radius, y: origin.y + Math.sin(angle) * radius * 0.75, vx: 0, vy: 0 };
    const element = make("g", { class: `graph-node graph-is-${given.kind || "plain"}`, tabindex: 0, role: "button" });
    if (given.faded) element.classList.add("graph-faded");
    if (given.main) element.classList.add("graph-main");
    element.append(make("circle", { r: given.main ? 12 : 9 }));
    const title = make("title");
    title.textContent = given.label;
    const text = make("text", { y: given.main ? 29 : 25, "text-anchor": "middle" });
    text.textContent = short(given.label);
    element.append(title, text);
    node.element = element;
    element.dataset.node = given.id;
    this.nodeLayer.append(element);
    this.nodes.set(given.id, node);
    this.#name(node);
  }

  #name(node) {
    const does = this.expandWith && !node.isExpanded ? ", press Enter to expand" : "";
    node.element.setAttribute("aria-label", `${node.kind || "memory"}: ${node.label}${does}`);
  }

  #addEdge(given) {
    const edge = { ...given, bend: 0 };
    edge.element = make("g", { class: `graph-edge graph-is-${given.kind || "plain"}` });
    edge.line = make("path", { "marker-end": this.tip, fill: "none" });
    edge.text = make("text", { "text-anchor": "middle" });
    edge.text.textContent = short(given.label || "");
    edge.element.append(edge.line, edge.text);
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

  #warm(heat) {
    this.heat = Math.max(this.heat, heat);
    if (this.isStill) {
      for (let step = 0; step < 300 && this.heat > CALM; step += 1) this.#step();
      this.#place();
      if (!this.isMoved) this.fit();
    } else if (!this.frame) {
      this.frame = requestAnimationFrame(() => this.#tick());
    }
  }

  #tick() {
    this.frame = null;
    for (let step = 0; step < 3; step += 1) this.#step();
    if (this.isMoved) this.#place();
    else this.fit();
    if (this.heat > CALM) this.frame = requestAnimationFrame(() => this.#tick());
  }

  #step() {
    const nodes = [...this.nodes.values()].filter((node) => !node.isHidden);
    const near = nodes.length > MANY ? neighbourhoods(nodes) : null;
    for (const node of nodes) {
      node.fx = -node.x * PULL;
      node.fy = -node.y * PULL * 1.6;
      for (const other of near ? near(node) : nodes) {
        if (other === node) continue;
        const dx = node.x - other.x || 0.1;
        const dy = node.y - other.y || 0.1;
        const push = PUSH / Math.max(400, dx * dx + dy * dy);
        const length = Math.hypot(dx, dy);
        node.fx += (dx / length) * push;
        node.fy += (dy / length) * push;
      }
    }
    for (const edge of this.edges.values()) {
      if (edge.isHidden) continue;
      const [one, other] = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
      const dx = other.x - one.x;
      const dy = other.y - one.y;
      const length = Math.hypot(dx, dy) || 1;
      const pull = (length - LENGTH) * SPRING;
      one.fx += (dx / length) * pull;
      one.fy += (dy / length) * pull;
      other.fx -= (dx / length) * pull;
      other.fy -= (dy / length) * pull;
    }
    for (const node of nodes) {
      if (node.isHeld) continue;
      node.vx = (node.vx + node.fx * this.heat) * 0.6;
      node.vy = (node.vy + node.fy * this.heat) * 0.6;
      const speed = Math.hypot(node.vx, node.vy);
      const limit = speed > 40 ? 40 / speed : 1;
      node.x += node.vx * limit;
      node.y += node.vy * limit;
    }
    this.heat *= 0.985;
  }

  #place() {
    this.world.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.scale})`);
    for (const node of this.nodes.values()) {
      node.element.setAttribute("transform", `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})`);
    }
    for (const edge of this.edges.values()) {
      const [one, other] = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
      const dx = other.x - one.x;
      const dy = other.y - one.y;
      const length = Math.hypot(dx, dy) || 1;
      const [ux, uy] = [dx / length, dy / length];
      const middle = { x: (one.x + other.x) / 2 - uy * edge.bend, y: (one.y + other.y) / 2 + ux * edge.bend };
      const start = `${one.x + ux * 12} ${one.y + uy * 12}`;
      const end = `${other.x - ux * 15} ${other.y - uy * 15}`;
      edge.line.setAttribute("d", `M${start} Q${middle.x.toFixed(1)} ${middle.y.toFixed(1)} ${end}`);
      edge.text.setAttribute("x", ((one.x + other.x) / 4 + middle.x / 2).toFixed(1));
      edge.text.setAttribute("y", ((one.y + other.y) / 4 + middle.y / 2 - 5).toFixed(1));
    }
  }

  #listen() {
    const svg = this.svg;
    let held = null;
    svg.addEventListener("pointerdown", (event) => {
      const node = this.#nodeOf(event.target);
      held = { node, x: event.clientX, y: event.clientY, moved: false };
      svg.setPointerCapture(event.pointerId);
      if (node) node.isHeld = true;
    });
    svg.addEventListener("pointermove", (event) => {
      if (!held) return;
      const dx = event.clientX - held.x;
      const dy = event.clientY - held.y;
      if (!held.moved && Math.hypot(dx, dy) < 4) return;
      held = { ...held, x: event.clientX, y: event.clientY, moved: true };
      this.isMoved = true;
      if (held.node) {
        held.node.x += dx / this.view.scale;
        held.node.y += dy / this.view.scale;
        this.#warm(0.25);
      } else {
        this.view.x += dx;
        this.view.y += dy;
      }
      this.#place();
    });
    const release = () => {
      if (!held) return;
      const { node, moved } = held;
      held = null;
      if (!node) return;
      node.isHeld = false;
      node.element.focus();
      if (!moved) this.expand(node.id);
    };
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", () => {
      if (held && held.node) held.node.isHeld = false;
      held = null;
    });
    svg.addEventListener("dblclick", (event) => {
      const node = this.#nodeOf(event.target);
      if (node) this.openWith(node);
    });
    svg.addEventListener("wheel", (event) => {
      // The wheel scrolls the page; with Ctrl or ⌘, or pinching, it zooms.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    svg.addEventListener("focusin", (event) => {
      const node = this.#nodeOf(event.target);
      if (node) this.#tell("select", { node });
    });
    svg.addEventListener("keydown", (event) => this.#pressed(event));
    new ResizeObserver(() => { if (!this.isMoved) this.fit(); }).observe(this.host);
  }

  #pressed(event) {
    const node = this.#nodeOf(event.target);
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const { width, height } = this.#size();
    if (node && ways[event.key]) this.#goTo(node, ...ways[event.key]);
    else if (node && (event.key === "Enter" || event.key === " ")) this.expand(node.id);
    else if (node && event.key === "o") this.openWith(node);
    else if (event.key === "+" || event.key === "=") this.zoom(1.2, width / 2, height / 2);
    else if (event.key === "-") this.zoom(1 / 1.2, width / 2, height / 2);
    else if (event.key === "0") { this.isMoved = false; this.fit(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.1, this.view.scale * factor));
    const by = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by };
    this.isMoved = true;
    this.#place();
  }

  #goTo(node, x, y) {
    let best = null;
    for (const other of this.nodes.values()) {
      if (other === node || other.isHidden) continue;
      const dx = other.x - node.x;
      const dy = other.y - node.y;
      const along = dx * x + dy * y;
      const aside = Math.abs(dx * y) + Math.abs(dy * x);
      // Nodes more to the side than ahead are chosen only if nothing else lies that way.
      if (along > 1 && (!best || along + 2 * aside < best.far)) best = { other, far: along + 2 * aside };
    }
    if (best) best.other.element.focus();
  }

  #nodeOf(target) {
    const element = target.closest ? target.closest("[data-node]") : null;
    return element ? this.nodes.get(element.dataset.node) : null;
  }

  #size() {
    return { width: this.host.clientWidth || 600, height: this.host.clientHeight || 360 };
  }

  #tell(what, detail) {
    this.host.dispatchEvent(new CustomEvent(`graph:${what}`, { detail, bubbles: true }));
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

/* A function from a node to its neighbours, by a grid whose cells are wider than the repulsion reaches. */
function neighbourhoods(nodes) {
  const side = LENGTH * 3;
  const cells = new Map();
  const cellOf = (x, y) => `${Math.floor(x / side)} ${Math.floor(y / side)}`;
  for (const node of nodes) {
    const cell = cellOf(node.x, node.y);
    cells.set(cell, [...(cells.get(cell) || []), node]);
  }
  return (node) => {
    const around = [];
    for (const dx of [-side, 0, side]) {
      for (const dy of [-side, 0, side]) around.push(...(cells.get(cellOf(node.x + dx, node.y + dy)) || []));
    }
    return around;
  };
}
