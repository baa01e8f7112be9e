// ---- paint_links: the lines between cards, their tips, and the shapes of gradients where there is room.

function paintLinks(context, scale, links, alpha) {
  const { scene } = state;
  context.globalAlpha = alpha;
  context.strokeStyle = looks.colours.line;
  context.lineWidth = clamp(1.3, 0.6 / scale, 3 / scale);
  const curved = scale >= CURVES_FROM && links.length < 4000;
  const [flowing, cut] = scene.graph.hasGhosts || scene.graph.cutWords.size ? parted(links, isCut) : [links, []];
  const [whole, beside] = scene.graph.hasBeside ? parted(flowing, isBeside) : [flowing, []];
  traceLinks(context, whole, curved);
  if (beside.length) {
    context.setLineDash([1.5, 3]);
    traceLinks(context, beside, curved);
    context.setLineDash([]);
  }
  if (cut.length) {
    context.setLineDash([5, 4]);
    context.strokeStyle = looks.colours.error;
    traceLinks(context, cut, curved);
    context.setLineDash([]);
  }
  context.globalAlpha = 1;
  if (scale >= ROUND_FROM) paintTips(context, links, alpha);
}

const parted = (items, test) => [items.filter((item) => !test(item)), items.filter(test)];

// Whether values take a line and no gradient: it was cut.
function isCut(link) {
  const { graph, scene } = state, giver = graph.turned ? scene.sourceOf(link) : scene.targetOf(link);
  return graph.cutWords.has(graph.links.edge[link]) || (giver >= 0 && kindOf(giver) === "ghost");
}

// Whether what a line carries comes from something that no gradient was asked for.
function isBeside(link) {
  const { graph } = state;
  return BESIDE.has(graph.of("kind", graph.edges.target[graph.links.edge[link]])) && !isCut(link);
}

function traceLinks(context, links, curved) {
  const { scene } = state;
  for (let from = 0; from < links.length; from += 1000) {
    context.beginPath();
    for (const link of links.slice(from, from + 1000)) {
      if (curved) traceCurve(context, linkPoints(scene, link));
      else traceStraight(context, scene, link);
    }
    context.stroke();
  }
}

function traceCurve(context, points) {
  context.moveTo(points[0], points[1]);
  for (let at = 2; at < points.length; at += 6) {
    context.bezierCurveTo(points[at], points[at + 1], points[at + 2], points[at + 3], points[at + 4], points[at + 5]);
  }
}

function traceStraight(context, scene, link) {
  if (winds(scene, link)) { traceCurve(context, linkPoints(scene, link)); return; }
  const [x0, y0, x1, y1] = linkEnds(scene, link);
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
}

function paintTips(context, links, alpha) {
  const { scene } = state;
  context.fillStyle = looks.colours.line;
  context.globalAlpha = alpha;
  context.beginPath();
  for (const link of links) {
    const to = scene.targetOf(link);
    if (to < 0 || scene.isOpen(to)) continue;  // the line goes on inside, or outside
    if (!scene.graph.turned && isCut(link)) continue;
    const points = linkPoints(scene, link), x = points.at(-2), y = points.at(-1);
    context.moveTo(x - 3.5, y - 7);
    context.lineTo(x + 3.5, y - 7);
    context.lineTo(x, y);
  }
  context.fill();
  if (viewNow() === "both") paintBackTips(context, links);
  paintStops(context, links.filter(isCut));
  context.globalAlpha = 1;
}

// Where gradients come back: at the upper ends of lines that were not cut.
function paintBackTips(context, links) {
  const { scene } = state, from = links.map((link) => scene.sourceOf(link));
  context.fillStyle = looks.colours.root;
  context.beginPath();
  links.forEach((link, at) => {
    if (from[at] < 0 || scene.isOpen(from[at]) || isCut(link) || isBeside(link)) return;
    const [x, y] = linkPoints(scene, link);
    context.moveTo(x - 3.5, y + 7);
    context.lineTo(x + 3.5, y + 7);
    context.lineTo(x, y);
  });
  context.fill();
}

// Bars where gradients stop: at the end of a cut line that is nearer to where values come from.
function paintStops(context, links) {
  const { scene } = state, { turned } = scene.graph;
  context.fillStyle = looks.colours.error;
  for (const link of links) {
    const giver = turned ? scene.sourceOf(link) : scene.targetOf(link), points = linkPoints(scene, link);
    if (giver < 0 || scene.isOpen(giver)) continue;
    const [x, y] = turned ? points : points.slice(-2);
    context.fillRect(x - 5, turned ? y : y - 2, 10, 2);
  }
}

// What a line carries at its start, where it is not crowded: the shape of the gradient, and the name of one of several
// outputs, which stands at the card that has them as well. From afar only the names.
function paintLabels(context, links, all) {
  const { scene } = state, { colours } = looks, fan = new Map(), places = new Map(), said = new Set();
  context.font = `9.5px ${FONT}`;
  context.textAlign = "center";
  context.lineWidth = 4;
  context.lineJoin = "round";
  const label = (text, port, spots) => {
    const key = `${port} ${text}`, width = context.measureText(text).width;
    if (!text || said.has(key)) return;  // lines of one value that leave as one have one label
    said.add(key);
    const place = spots.find(([x, y]) => !taken(places, x, y, width));
    if (!place) return;
    context.strokeStyle = colours.paper;
    context.strokeText(text, place[0], place[1] + 3.5);
    context.fillStyle = colours.muted;
    context.fillText(text, place[0], place[1] + 3.5);
  };
  // A line that passes the edge of an open box has its label where it began.
  const isCard = (card) => card >= 0 && !scene.isOpen(card), begun = links.filter((link) => isCard(scene.sourceOf(link)));
  for (const link of begun) fan.set(scene.sourceOf(link), (fan.get(scene.sourceOf(link)) || 0) + 1);
  for (const link of begun) {
    const text = all || (scene.graph.turned && outputOf(link)) ? linkLabel(link) : "";
    if (!text || fan.get(scene.sourceOf(link)) > 12) continue;
    const points = linkPoints(scene, link);
    label(text, points.slice(0, 2), LABELS_BELOW.map((below) => labelPoint(points, below)));
  }
  if (scene.graph.turned) return;
  for (const link of links.filter((link) => isCard(scene.targetOf(link)))) {
    const text = outputOf(link);
    if (!text) continue;
    const [x, y] = linkPoints(scene, link).slice(-2);
    label(text, [x, y], [[x, y - 14], [x, y - 26]]);
  }
}

// Whether another label stands where one of this width would; else its place is noted.
function taken(places, x, y, width) {
  const row = Math.round(y / 12), left = x - width / 2 - 2, right = x + width / 2 + 2;
  const near = [row - 1, row, row + 1].flatMap((each) => places.get(each) || []);
  if (near.some((other) => Math.abs(other.y - y) < 11 && other.left < right && other.right > left)) return true;
  if (!places.has(row)) places.set(row, []);
  places.get(row).push({ left, right, y });
  return false;
}

function linkLabel(link) {
  const { graph } = state, count = graph.links.count[link], edge = graph.links.edge[link];
  if (graph.cutWords.has(edge)) return graph.cutWords.get(edge);
  const words = [outputOf(link), graph.edges.output[edge] ? "" : graph.of("shape", graph.edges.target[edge])];
  return `${words.join(" ").trim()}${count > 1 ? ` (×${count})` : ""}`.trim();
}

// Which of several outputs a link enters, by the program's name for it or by number; "" for one alone, and where links
// of several are counted together.
function outputOf(link) {
  const { graph } = state, { links, turned, edges } = graph, giver = (turned ? links.source : links.target)[link], edge = links.edge[link];
  if (links.count[link] > 1 && (links.box[link] < 0 || giver < 0 || graph.isBox(giver))) return "";
  const node = edges.target[edge], output = edges.output[edge], names = graph.isLeaf(node) ? [] : clean(graph.of("name", node)).split(", ");
  if (names.length > 1 && output < names.length && names[output] !== "_") return names[output];
  return output || names.length > 1 ? `output ${output}` : "";
}

// A point of a line a little below its start.
const LABELS_BELOW = [17, 29, 41];

function labelPoint(points, below) {
  const share = clamp(below / Math.max(Math.abs(points[7] - points[1]), below), 0, 0.8);
  return [bezierAt(points, 0, share), bezierAt(points, 1, share)];
}

// Links that begin or end at a card, at most a few hundred.
function linksAt(card) {
  const { scene } = state, { x, y, width, height } = scene;
  const near = scene.grid.linksIn(x[card] - 1, y[card] - 1, x[card] + width[card] + 1, y[card] + height[card] + 1);
  return near.filter((link) => scene.sourceOf(link) === card || scene.targetOf(link) === card).slice(0, 400);
}
