/* Which labels of a graph are shown, and where: none covers another label, and only those of hubs may cover a node. The rest
   appear when one zooms in or points at their node. */

const HEIGHT = 16; // of a line
const GAP = 3;
const HUB = 6; // edges
const CELL = 64; // of the grid that finds boxes nearby
const measure = document.createElement("canvas").getContext("2d");

/* The width of a text in pixels; reading it from the page would lay the page out once for each. */
export function widthOf(text, size) {
  measure.font = `${size}px Inter, system-ui, sans-serif`;
  return measure.measureText(text).width * 1.06 + 4;
}

/* The boxes that are taken inside a frame. */
class Room {
  constructor({ width, height }) {
    this.frame = { width, height };
    this.cells = new Map();
  }

  isFree(box, { overNodes = false } = {}) {
    if (box.left < 0 || box.top < 0 || box.left + box.width > this.frame.width || box.top + box.height > this.frame.height) return false;
    return !this.#near(box).some((taken) => taken !== box.own && !(overNodes && taken.isDisc) && overlaps(taken, box));
  }

  take(box) {
    for (const key of cellsOf(box)) this.cells.set(key, [...(this.cells.get(key) || []), box]);
  }

  #near(box) {
    return cellsOf(box).flatMap((key) => this.cells.get(key) || []);
  }
}

/* Give each node and edge its `spot` {x, y, anchor}, null where no room is left. Both lists come with the most wanted first.
   A label may lie on a node that is not `isThere`: one that is drawn pale. */
export function placeLabels(nodes, edges, frame) {
  const room = new Room(frame);
  for (const node of nodes) {
    node.disc = { left: node.at.x - node.radius, top: node.at.y - node.radius, width: 2 * node.radius, height: 2 * node.radius, isDisc: true };
    if (node.isThere) room.take(node.disc);
  }
  for (const node of nodes) {
    const places = node.isLabelled ? besides(node) : [];
    // What many lines lead to has its name even where nodes stand close.
    const found = places.find(({ box }) => room.isFree(box)) || (node.edgeCount >= HUB ? places.find(({ box }) => room.isFree(box, { overNodes: true })) : null);
    node.spot = found ? found.spot : null;
    if (found) room.take(found.box);
  }
  for (const edge of edges) {
    const found = edge.isLabelled ? along(edge).find(({ box }) => room.isFree(box)) : null;
    edge.spot = found ? found.spot : null;
    if (found) room.take(found.box);
  }
}

/* The places for a node's label, the best first: below, above, right and left of it. */
function besides({ at, radius, labelWidth, disc }) {
  const middle = at.x - labelWidth / 2;
  const places = [
    { left: middle, top: at.y + radius + GAP, anchor: "middle", x: 0 },
    { left: middle, top: at.y - radius - GAP - HEIGHT, anchor: "middle", x: 0 },
    { left: at.x + radius + GAP, top: at.y - HEIGHT / 2, anchor: "start", x: radius + GAP },
    { left: at.x - radius - GAP - labelWidth, top: at.y - HEIGHT / 2, anchor: "end", x: -radius - GAP },
  ];
  return places.map(({ left, top, anchor, x }) => ({
    box: { left, top, width: labelWidth, height: HEIGHT, own: disc },
    spot: { x, y: top + HEIGHT - 4 - at.y, anchor },
  }));
}

function along({ points, labelWidth }) {
  if (!points) return [];
  const [one, bend, other] = points;
  if (Math.hypot(other.x - one.x, other.y - one.y) < labelWidth * 0.75) return [];
  return [0.5, 0.36, 0.64].map((part) => {
    const rest = 1 - part;
    const x = rest * rest * one.x + 2 * rest * part * bend.x + part * part * other.x;
    const y = rest * rest * one.y + 2 * rest * part * bend.y + part * part * other.y;
    return { box: { left: x - labelWidth / 2, top: y - HEIGHT / 2, width: labelWidth, height: HEIGHT }, spot: { x, y: y + 4, anchor: "middle" } };
  });
}

function overlaps(one, other) {
  return one.left < other.left + other.width && other.left < one.left + one.width && one.top < other.top + other.height && other.top < one.top + one.height;
}

function cellsOf({ left, top, width, height }) {
  const found = [];
  for (let x = Math.floor(left / CELL); x <= Math.floor((left + width) / CELL); x += 1) {
    for (let y = Math.floor(top / CELL); y <= Math.floor((top + height) / CELL); y += 1) found.push(`${x} ${y}`);
  }
  return found;
}
