/* Where the nodes of a graph stand: d3-force with settings for few and for hundreds of nodes. */

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "./vendor/d3-force.js";

const FEW = 60; // nodes; up to here each label has room of its own
const PULL = 0.07; // towards the centre; less along the longer side of the picture
const WORK = 60_000; // nodes × steps before the first picture

export class Layout {
  constructor(moved) {
    this.links = forceLink().id((node) => node.id);
    this.charge = forceManyBody();
    this.room = forceCollide();
    this.across = forceX();
    this.down = forceY();
    this.simulation = forceSimulation().stop().on("tick", moved);
    for (const [name, force] of Object.entries({ links: this.links, charge: this.charge, room: this.room, x: this.across, y: this.down })) this.simulation.force(name, force);
  }

  /* Take these nodes and edges; new nodes without a place get one. d3's random numbers are fixed: a graph always looks the same. */
  set(nodes, edges, { width, height }) {
    const isFew = nodes.length <= FEW;
    this.simulation.nodes(nodes);
    this.links.links(edges.map((edge) => ({ source: edge.from, target: edge.to }))).distance(isFew ? 130 : 70);
    this.charge.strength(isFew ? -500 : -180).distanceMax(isFew ? 900 : 500);
    this.room.radius(isFew ? 46 : 24).strength(0.8);
    // The picture fills its frame, which lies on a wide screen and stands on a phone.
    const shape = Math.min(4, Math.max(0.25, (width / height) ** 2));
    this.across.strength(PULL / Math.max(1, shape));
    this.down.strength(PULL * Math.min(1, shape));
  }

  settle() {
    const count = Math.max(1, this.simulation.nodes().length);
    this.simulation.stop().alpha(1).tick(Math.min(300, Math.max(60, Math.round(WORK / count))));
  }

  animate(heat) {
    this.simulation.alpha(Math.max(this.simulation.alpha(), heat)).restart();
  }
}
