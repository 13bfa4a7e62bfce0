/* Mouse, finger and keyboard on a Graph. */

const SLACK = 4; // pixels that a click may move
const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

export function listen(graph) {
  const { svg } = graph;
  listenToPointer(graph, svg);
  svg.addEventListener("dblclick", (event) => {
    const node = graph.nodeOf(event.target);
    if (node) graph.openWith(node);
  });
  svg.addEventListener("wheel", (event) => {
    // The wheel scrolls the page; with Ctrl or ⌘, or pinching, it zooms.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    graph.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  svg.addEventListener("focusin", (event) => {
    const node = graph.nodeOf(event.target);
    if (node) graph.select(node);
  });
  svg.addEventListener("pointerover", (event) => graph.light(graph.nodeOf(event.target) || graph.edgeOf(event.target)));
  svg.addEventListener("pointerleave", () => graph.light(null));
  svg.addEventListener("keydown", (event) => pressed(graph, event));
  new ResizeObserver(() => { if (graph.isMoved) graph.place(); else graph.fit(); }).observe(graph.host);
}

function listenToPointer(graph, svg) {
  let held = null;
  svg.addEventListener("pointerdown", (event) => {
    held = { node: graph.nodeOf(event.target), edge: graph.edgeOf(event.target), x: event.clientX, y: event.clientY, moved: false };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    const dx = event.clientX - held.x;
    const dy = event.clientY - held.y;
    if (!held.moved && Math.hypot(dx, dy) < SLACK) return;
    // Not before: a captured click would not reach its node.
    if (!held.moved) svg.setPointerCapture(event.pointerId);
    held = { ...held, x: event.clientX, y: event.clientY, moved: true };
    if (held.node) graph.drag(held.node, dx, dy);
    else graph.pan(dx, dy);
  });
  svg.addEventListener("pointerup", () => {
    if (!held) return;
    const { node, edge, moved } = held;
    held = null;
    if (node) node.element.focus();
    if (moved) return;
    if (node) graph.click(node);
    else if (edge) graph.tell("edge", { edge });
    else graph.select(null);
  });
  svg.addEventListener("pointercancel", () => { held = null; });
}

function pressed(graph, event) {
  const node = graph.nodeOf(event.target);
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const { width, height } = graph.size();
  if (node && WAYS[event.key]) goTo(graph, node, ...WAYS[event.key]);
  else if (node && (event.key === "Enter" || event.key === " ")) graph.expand(node.id);
  else if (node && event.key === "o") graph.openWith(node);
  else if (event.key === "+" || event.key === "=") graph.zoom(1.2, width / 2, height / 2);
  else if (event.key === "-") graph.zoom(1 / 1.2, width / 2, height / 2);
  else if (event.key === "0") graph.arrange();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/* Move the focus to the nearest node in a direction. */
function goTo(graph, node, x, y) {
  let best = null;
  for (const other of graph.nodes.values()) {
    if (other === node || other.isHidden) continue;
    const dx = other.x - node.x;
    const dy = other.y - node.y;
    const along = dx * x + dy * y;
    const aside = Math.abs(dx * y) + Math.abs(dy * x);
    // Nodes more to the side than ahead are chosen only if nothing else lies that way.
    if (along > 1 && (!best || along + 2 * aside < best.far)) best = { other, far: along + 2 * aside };
  }
  if (best) {
    graph.show(best.other);
    best.other.element.focus();
  }
}
