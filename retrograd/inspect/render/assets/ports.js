// ---- ports: where lines pass the frame of an open box. Lines that go on in one another share a port; others have their
// own, side by side. In pictures that Python made lines join cards without stopping at frames, and need none.

const PORT_GAP = 16, MOST_PORTS = 24, MOST_FOLLOWED = 100000;  // pixels; per side of a frame; edges

class Ports {
  constructor(scene) {
    this.shifts = new Map();  // side of a frame -> how far from its middle each of its lines passes
    const { graph } = scene, { source, target } = graph.edges;
    if (!scene.openBoxes.length || source.length > MOST_FOLLOWED) return;
    const sides = new Map(), links = linksByEnds(scene), atoms = graph.atoms.ofNode;
    for (let edge = 0; edge < source.length; edge++) this.follow(scene, sides, links, atoms[source[edge]], atoms[target[edge]], edge);
    for (const [side, joined] of sides) this.spread(scene, side, joined);
  }
  // Note which links an edge runs along one after the other, at the frames of open boxes between them.
  follow(scene, sides, links, from, to, edge) {
    const { graph } = scene, { ofAtom } = graph.boxes, [upper, lower] = graph.turned ? [to, from] : [from, to];
    if (ofAtom[upper] === ofAtom[lower]) return;
    const [out, into] = hopsOf(graph, upper, lower), way = [...out, ...into].map((ends) => linkOf(graph, links.get(ends), edge));
    for (let at = 0; at + 1 < way.length; at++) {
      const leaves = at + 1 < out.length, box = +(leaves ? out[at] : into[at + 1 - out.length]).split(" ")[0];
      if (way[at] === undefined || way[at + 1] === undefined) continue;
      const side = leaves ? `${box} exit` : `${box} entry`;
      if (!sides.has(side)) sides.set(side, new Map());
      join(sides.get(side), way[at], way[at + 1]);
    }
  }
  // Ports of one side of a frame, in the order of what the lines lead to.
  spread(scene, side, joined) {
    const groups = new Map();
    for (const link of joined.keys()) {
      const first = firstOf(joined, link);
      if (!groups.has(first)) groups.set(first, []);
      groups.get(first).push(link);
    }
    if (groups.size < 2 || groups.size > MOST_PORTS) return;
    const [box, name] = side.split(" "), { width } = scene, gap = Math.min(PORT_GAP, (0.8 * width[scene.graph.boxCard(+box)]) / groups.size);
    const places = [...groups.values()].map((links) => [mean(links.map((link) => farEnd(scene, link, +box, name))), links]);
    places.sort(([one], [other]) => one - other);
    const shifts = new Map();
    places.forEach(([, links], at) => links.forEach((link) => shifts.set(link, gap * (at - (places.length - 1) / 2))));
    this.shifts.set(side, shifts);
  }
  shift(box, side, link) { return this.shifts.get(`${box} ${side}`)?.get(link) ?? 0; }
}

// The links to be seen, by box and ends.
function linksByEnds(scene) {
  const { box, source, target } = scene.graph.links, found = new Map();
  for (const link of scene.links) {
    const ends = `${box[link]} ${source[link]} ${target[link]}`;
    if (!found.has(ends)) found.set(ends, []);
    found.get(ends).push(link);
  }
  return found;
}

// Of links between the same cards the one that stands for an edge: cuts and outputs are kept apart.
function linkOf(graph, links, edge) {
  const { output } = graph.edges, alike = (link) => {
    const first = graph.links.edge[link];
    return output[first] === output[edge] && graph.cutWords.has(first) === graph.cutWords.has(edge);
  };
  return links && (links.length > 1 ? links.find(alike) ?? links[0] : links[0]);
}

// Sets of links that go on in one another, each known by its first.
function firstOf(joined, link) {
  while (joined.get(link) !== link) link = joined.get(link);
  return link;
}

function join(joined, one, other) {
  for (const link of [one, other]) if (!joined.has(link)) joined.set(link, link);
  joined.set(firstOf(joined, other), firstOf(joined, one));
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// Where the other end of a link is that passes a frame: inside lines count, for they are shorter.
function farEnd(scene, link, box, side) {
  const { graph, x, width } = scene, { source, target } = graph.links, own = graph.boxCard(box);
  const inside = graph.links.box[link] === box, card = inside === (side === "entry") ? target[link] : source[link];
  const seen = card >= 0 && card !== own ? card : own;
  return x[seen] + width[seen] / 2;
}
