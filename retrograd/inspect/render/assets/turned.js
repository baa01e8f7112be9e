// ---- turned: a structure as values go through it. Rows stand in their boxes upside down, and lines lead from what
// gives a value to what takes it; the pictures that Python placed (links of no box) are not touched.

const pointCount = (pieces) => (pieces ? (pieces & 1 ? 3 : 1) * (pieces >> 1) + 1 : 0);

function turnedData(data) {
  const { boxes, links, cards } = data, other = (end) => (end === ENTRY ? EXIT : end === EXIT ? ENTRY : end);
  const from = links.source.slice(), to = links.target.slice();
  for (let link = 0; link < from.length; link++) if (links.box[link] >= 0) [from[link], to[link]] = [other(to[link]), other(from[link])];
  return {
    ...data,
    cards: { ...cards, y: turnedRows(data) },
    boxes: { ...boxes, entry: boxes.exit, exit: boxes.entry },
    links: { ...links, source: from, target: to, points: turnedPoints(links, boxes.innerHeight) },
  };
}

// The cards of a row stand at one height, also where they are of different ones.
function turnedRows({ atoms, boxes, cards }) {
  const count = atoms.head.length, bottoms = new Map();
  const around = (card) => (card < count ? boxes.ofAtom[card] : boxes.parent[card - count]);
  const row = (card) => around(card) * 2 ** 30 + cards.y[card];
  for (let card = 0; card < cards.y.length; card++) bottoms.set(row(card), Math.max(bottoms.get(row(card)) ?? 0, cards.y[card] + cards.height[card]));
  return Int32Array.from(cards.y, (_, card) => (around(card) < 0 ? 0 : boxes.innerHeight[around(card)] - bottoms.get(row(card))));
}

function turnedPoints({ box, pieces, points }, heights) {
  const found = Int32Array.from(points);
  for (let link = 0, at = 0; link < box.length; at += 2 * pointCount(pieces[link++])) {
    const count = pointCount(pieces[link]);
    if (box[link] < 0 || !count) continue;
    let x = 0, y = 0;
    for (let point = 0; point < count; point++) { x += points[at + 2 * point]; y += points[at + 2 * point + 1]; }
    [found[at], found[at + 1]] = [x, heights[box[link]] - y];
    for (let point = 1; point < count; point++) {
      const step = at + 2 * (count - point);  // walked the other way, and upside down
      [found[at + 2 * point], found[at + 2 * point + 1]] = [-points[step], points[step + 1]];
    }
  }
  return found;
}
