// ---- lines: the Bezier points of a link, as Python wrote them and as the open boxes move them.

// Absolute points inside the link's box, [] for a link without a way of its own. Unless it bends in its own way, only
// the ends of its pieces are stored: they leave and arrive straight down and turn half way.
function rawPoints(graph, link) {
  const pieces = graph.links.pieces[link] >> 1, bent = graph.links.pieces[link] & 1;
  if (!pieces) return [];
  const { points } = graph.links, found = new Array(6 * pieces + 2), step = bent ? 2 : 6;
  let x = 0, y = 0, from = graph.firstPoint[link];
  for (let at = 0; at < found.length; at += step) {
    found[at] = x += points[from++];
    found[at + 1] = y += points[from++];
  }
  if (!bent) for (let at = 0; at + 6 < found.length; at += 6) turnHalfWay(found, at);
  return found;
}

function turnHalfWay(points, at) {
  points[at + 2] = points[at];
  points[at + 4] = points[at + 6];
  points[at + 3] = points[at + 5] = (points[at + 1] + points[at + 7]) / 2;
}

// Where a link begins and ends on the sheet: [x0, y0, x1, y1].
function linkEnds(scene, link) {
  const { graph } = scene, box = graph.links.box[link];
  if (box < 0) { const found = rawPoints(graph, link); return [...found.slice(0, 2), ...found.slice(-2)]; }
  const [x0, y0] = linkEnd(scene, scene.sourceOf(link), box, true, link);
  const [x1, y1] = linkEnd(scene, scene.targetOf(link), box, false, link);
  return [x0, y0, x1, y1];
}

function linkEnd(scene, card, box, leaves, link) {
  const { graph, x, y, width, height } = scene;
  if (card < 0) {
    const around = graph.boxCard(box);
    return card === EXIT ? [x[around] + scene.port(box, "exit", link), y[around] + height[around]] : [x[around] + scene.port(box, "entry", link), y[around]];
  }
  const port = scene.isOpen(card) ? scene.port(graph.boxOf(card), leaves ? "exit" : "entry", link) : width[card] / 2;
  return [x[card] + port, y[card] + (leaves ? height[card] : 0)];
}

// The points of a link on the sheet, ready to be drawn.
function linkPoints(scene, link) {
  const { graph } = scene, box = graph.links.box[link];
  if (box < 0) return rawPoints(graph, link);
  const [x0, y0, x1, y1] = linkEnds(scene, link);
  // In a box that shows one block there is one card and nothing to go around.
  const found = scene.boxes.block[box] < 0 ? rawPoints(graph, link) : [], [left, top] = scene.origin(box);
  const spots = scene.boxes.spots.get(box);
  if (found.length && spots) return movedPoints(scene, link, found, [x0, y0, x1, y1], spots, left, top);
  if (found.length <= 8) return soft(graph, scene, link, found, x0, y0, x1, y1);
  for (let at = 0; at < found.length; at += 2) {
    found[at] += left;
    found[at + 1] += top;
  }
  return joined(scene, link, found, x0, y0, x1, y1);
}

// The same where cards have moved: through the places to which the points between its pieces have moved.
function movedPoints(scene, link, found, [x0, y0, x1, y1], spots, left, top) {
  [x0, x1] = keptPorts(scene, link, found, x0, x1);
  const way = spots.way(found, link, [x0 - left, y0 - top], [x1 - left, y1 - top]);
  return curved(way.map(([x, y]) => [x + left, y + top]));
}

// Bezier points through points, leaving and arriving straight down; two on one height are joined by a turn (curves.py).
function curved(way) {
  const found = [...way[0]];
  let [x0, y0] = way[0], heading = 1;
  for (const [x, y] of way.slice(1)) {
    if (x === x0 && y === y0) continue;
    const over = y === y0, middle = (y0 + y) / 2;
    if (over) found.push(...uTurn(x0, x, y, heading));
    else found.push(x0, middle, x, middle, x, y);
    heading = over ? -heading : Math.sign(y - y0);
    [x0, y0] = [x, y];
  }
  return found;
}

const ROUND = 0.5523;

// A turn to another place on the same height: corner, straight, corner.
function uTurn(x0, x1, y, heading) {
  const width = Math.abs(x1 - x0), deep = Math.min(width / 2, 14 + 0.035 * width, 29);
  const side = x1 > x0 ? deep : -deep, far = y + heading * deep, near = y + heading * deep * ROUND;
  const [first, last, soft] = [x0 + side, x1 - side, side * (1 - ROUND)];
  return [x0, near, x0 + soft, far, first, far, first, far, last, far, last, far, x1 - soft, far, x1, near, x1, y];
}

// Whether a link is more than one curve from its beginning to its end.
const winds = (scene, link) => scene.graph.links.pieces[link] > 3 || scene.boxes.spots.get(scene.graph.links.box[link])?.columns.length > 1;

// One piece: from end to end, leaving and arriving straight down; ports on closed cards stay where Python put them.
function soft(graph, scene, link, found, x0, y0, x1, y1) {
  if (found.length) [x0, x1] = keptPorts(scene, link, found, x0, x1);
  const bend = y1 > y0 ? (y1 - y0) / 2 : Math.min(60, Math.abs(x1 - x0) / 4 + 30);
  return [x0, y0, x0, y0 + bend, x1, y1 - bend, x1, y1];
}

function keptPorts(scene, link, found, x0, x1) {
  const { graph } = scene, { source, target } = graph.links, { x, width } = graph.cards, last = found.length - 2;
  const from = source[link], to = target[link];
  if (from >= 0 && !scene.isOpen(from)) x0 += found[0] - (x[from] + width[from] / 2);
  if (to >= 0 && !scene.isOpen(to)) x1 += found[last] - (x[to] + width[to] / 2);
  return [x0, x1];
}

// Several pieces: the first and last reach from the cards to where the way begins and ends.
function joined(scene, link, found, x0, y0, x1, y1) {
  const raw = rawPoints(scene.graph, link), end = found.length - 2;
  [x0, x1] = keptPorts(scene, link, raw, x0, x1);
  found[0] = x0;
  found[1] = y0;
  found[end] = x1;
  found[end + 1] = y1;
  straighten(found, 0);
  straighten(found, end - 6);
  return found;
}

// Controls of a piece whose ends moved: straight down at both.
function straighten(points, at) {
  if (points[at + 7] >= points[at + 1]) turnHalfWay(points, at);
}
