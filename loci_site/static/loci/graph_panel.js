/* The panel beside the graph: what is chosen, where it leads, and the memories behind it. */

export class Panel {
  constructor(element) {
    this.element = element;
    this.title = element.querySelector("[data-panel-title]");
    this.kind = element.querySelector("[data-panel-kind]");
    this.count = element.querySelector("[data-panel-count]");
    this.list = element.querySelector("[data-panel-list]");
    this.hint = element.querySelector("[data-panel-hint]");
    this.chosen = element.querySelector("[data-panel-chosen]");
    this.open = element.querySelector("#graph-open");
  }

  /* Show a node with its edges as lines; null: the hint. */
  showNode(node, graph) {
    this.#show(node, node && node.label, node && node.kind, node && node.url);
    if (!node) return;
    const edges = [...graph.edges.values()].filter((edge) => edge.from === node.id || edge.to === node.id);
    this.list.replaceChildren(...edges.slice(0, 40).map((edge) => this.#line(edge, node, graph)));
  }

  showEdge(edge, graph) {
    const [from, to] = [edge.from, edge.to].map((id) => graph.nodes.get(id).label);
    this.#show(edge, `${from} – ${edge.label} → ${to}`, edge.kind, edge.url);
    this.list.replaceChildren();
  }

  #show(what, title, kind, url) {
    this.hint.hidden = Boolean(what);
    this.chosen.hidden = !what;
    if (!what) return;
    this.title.textContent = title;
    this.kind.textContent = window.lociText.word(kind);
    this.kind.className = `loci-badge loci-is-${kind}`;
    this.open.href = url;
  }

  #line(edge, node, graph) {
    const item = document.createElement("li");
    const isOut = edge.from === node.id;
    const other = graph.nodes.get(isOut ? edge.to : edge.from);
    const word = document.createElement("span");
    word.className = "loci-dim";
    word.textContent = isOut ? `${edge.label} → ` : `← ${edge.label} `;
    const link = document.createElement("a");
    link.href = other.url;
    link.className = "loci-link";
    link.textContent = other.label;
    item.append(word, link);
    return item;
  }
}
