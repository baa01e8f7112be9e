// ---- paint: the scene on a canvas, with as much detail as can be read at the scale.

const FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', 'DejaVu Sans', sans-serif";
const TEXT_FROM = 0.42, CURVES_FROM = 0.12, ROUND_FROM = 0.3, LABELS_FROM = 0.7;
const MANY = 2000;  // cards on the screen above which the picture made ahead is shown instead
const MANY_LINES = 2500;  // lines above which they are taken from that picture, and only cards are painted
const DIM = 0.22;

function paint() {
  const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d", { alpha: false });
  const { scene } = state, rectangle = shown();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = looks.colours.paper;
  context.fillRect(0, 0, stage.clientWidth, stage.clientHeight);
  context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
  const links = scene.grid.countIn(...rectangle) > MANY ? null : scene.grid.linksIn(...rectangle);
  const crowded = !links || links.length > MANY_LINES;
  if (crowded) paintAhead(context, rectangle);
  if (links) paintScene(context, view.scale, rectangle, crowded ? [] : links);
  else paintAccent(context, view.scale);
  paintBorder(context, view.scale);
  stage.dataset.scale = view.scale.toFixed(4);
}

// What lies in a rectangle of the sheet; the context is set to the sheet's coordinates.
function paintScene(context, scale, rectangle, links = state.scene.grid.linksIn(...rectangle)) {
  const { scene, lit } = state, cards = scene.grid.cardsIn(...rectangle);
  paintOpenBoxes(context, scale, rectangle);
  paintLinks(context, scale, links, lit ? DIM : 1);
  paintAccent(context, scale);
  if (scale >= LABELS_FROM && !lit) paintLabels(context, links);
  if (!lit) { paintCards(context, scale, cards); return; }
  context.globalAlpha = DIM;
  paintCards(context, scale, cards.filter((card) => !lit[card]));
  context.globalAlpha = 1;
  paintCards(context, scale, cards.filter((card) => lit[card]));
}

function paintOpenBoxes(context, scale, [left, top, right, bottom]) {
  const { scene, graph } = state, { colours } = looks;
  scene.openBoxes.forEach((box) => {
    const card = graph.boxCard(box), x = scene.x[card], y = scene.y[card], wide = scene.width[card], high = scene.height[card];
    if (x > right || y > bottom || x + wide < left || y + high < top) return;
    context.fillStyle = colours.muted;
    context.globalAlpha = 0.045;
    context.beginPath();
    context.roundRect(x, y, wide, high, 8);
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = Math.max(1, 0.7 / scale);
    context.strokeStyle = colours.rim;
    context.stroke();
    if (scale < TEXT_FROM / 2) return;
    context.fillStyle = colours.muted;
    context.font = `600 12px ${FONT}`;
    context.textAlign = "left";
    // The name stays on the screen while its box is larger than the screen.
    const at = Math.min(Math.max(x + 10, left + 10 / scale), x + wide - 60);
    const room = wide - 24 - (canRoll(graph, box) ? (state.block[box] < 0 ? 36 : PAGER) : 0);
    context.fillText(fitted(context, `▾ ${graph.boxes.name[box]}`, room), at, y + 20);
    if (scale >= TEXT_FROM) paintPager(context, box, x + wide, y);
  });
}

function paintLinks(context, scale, links, alpha) {
  const { scene } = state;
  context.globalAlpha = alpha;
  context.strokeStyle = looks.colours.line;
  context.lineWidth = clamp(1.3, 0.6 / scale, 3 / scale);
  const curved = scale >= CURVES_FROM && links.length < 4000;
  const [whole, cut] = scene.graph.hasGhosts ? parted(links, isCut) : [links, []];
  traceLinks(context, whole, curved);
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

// Whether a line leads to what was cut off.
const isCut = (link) => { const card = state.scene.targetOf(link); return card >= 0 && kindOf(card) === "ghost"; };

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
    const points = linkPoints(scene, link), x = points.at(-2), y = points.at(-1);
    context.moveTo(x - 3.5, y - 7);
    context.lineTo(x + 3.5, y - 7);
    context.lineTo(x, y);
  }
  context.fill();
  context.globalAlpha = 1;
}

// The shape of the gradient at the start of a line, where it is not crowded.
function paintLabels(context, links) {
  const { scene } = state, { colours } = looks;
  context.font = `9.5px ${FONT}`;
  context.textAlign = "center";
  context.lineWidth = 4;
  context.lineJoin = "round";
  const fan = new Map(), places = new Map();
  // A line that passes the edge of an open box has its label where it began.
  const begun = links.filter((link) => scene.sourceOf(link) >= 0 && !scene.isOpen(scene.sourceOf(link)));
  for (const link of begun) fan.set(scene.sourceOf(link), (fan.get(scene.sourceOf(link)) || 0) + 1);
  for (const link of begun) {
    const text = linkLabel(link);
    if (!text || fan.get(scene.sourceOf(link)) > 12) continue;
    const [x, y] = labelPoint(linkPoints(scene, link));
    if (taken(places, x, y, context.measureText(text).width)) continue;
    context.strokeStyle = colours.paper;
    context.strokeText(text, x, y + 3.5);
    context.fillStyle = colours.muted;
    context.fillText(text, x, y + 3.5);
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
  const output = graph.edges.output[edge], text = output ? `output ${output}` : graph.of("shape", graph.edges.target[edge]);
  return count > 1 ? `${text} (×${count})`.trim() : text;
}

// A point of a line a little below its start.
function labelPoint(points) {
  const share = clamp(17 / Math.max(Math.abs(points[7] - points[1]), 17), 0, 0.5), rest = 1 - share;
  const at = (axis) => rest ** 3 * points[axis] + 3 * rest * rest * share * points[axis + 2] + 3 * rest * share * share * points[axis + 4] + share ** 3 * points[axis + 6];
  return [at(0), at(1)];
}

function paintCards(context, scale, cards) {
  if (scale < ROUND_FROM) { paintBlocks(context, cards, scale); return; }
  const { scene } = state;
  for (const card of cards) {
    const [fill, rim, strip] = cardColours(card), x = scene.x[card], y = scene.y[card], wide = scene.width[card], high = scene.height[card];
    context.fillStyle = fill;
    context.strokeStyle = rim;
    context.lineWidth = 1;
    context.beginPath();
    if (state.graph.boxes.repeats[state.graph.boxOf(card)] > 1) { context.roundRect(x + 4, y + 4, wide, high, 6); context.stroke(); context.beginPath(); }
    context.roundRect(x, y, wide, high, 6);
    context.fill();
    context.setLineDash(kindOf(card) === "ghost" ? [5, 4] : []);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = strip;
    context.fillRect(x, y + 4, 4, high - 8);
    if (scale >= TEXT_FROM) paintWords(context, card, x, y, wide, high);
  }
}

// Far away: rectangles, all of one colour at once.
function paintBlocks(context, cards, scale) {
  const { scene } = state, byColour = new Map(), least = 1 / scale;
  for (const card of cards) {
    const [fill, rim, strip] = cardColours(card), colour = looks.scale ? (looks.scale.cards[card] === ODD ? rim : fill) : strip;
    if (!byColour.has(colour)) byColour.set(colour, []);
    byColour.get(colour).push(card);
  }
  for (const [colour, group] of byColour) {
    context.fillStyle = colour;
    for (const card of group) context.fillRect(scene.x[card], scene.y[card], Math.max(scene.width[card], least), Math.max(scene.height[card], least));
  }
}

function paintWords(context, card, x, y, wide, high) {
  const { graph } = state, { colours } = looks, thing = graph.thingOf(card), box = graph.isBox(card);
  const line = box ? boxLine(graph.boxOf(card)) : graph.line(thing), rows = graph.rows.get(card) || [];
  const room = wide - 20, flagged = state.flags && state.flags[card];
  context.textAlign = "left";
  context.fillStyle = colours.ink;
  context.font = `600 13px ${FONT}`;
  const title = box ? `▸ ${graph.title(thing)}` : graph.title(thing) + graph.useText(card), single = !line && !rows.length;
  const top = single ? y + high / 2 + 5 : y + 19, space = room - (flagged ? 14 : 0), shown = fitted(context, title, space);
  context.fillText(shown, x + 11, top);
  if (!box) paintModule(context, graph.module(card), x + 17 + context.measureText(shown).width, top, x + 5 + space);
  if (flagged) { context.fillStyle = colours.odd; context.fillText("!", x + wide - 12, y + 19); }
  context.fillStyle = box ? colours.muted : colours.ink;
  context.font = `11px ${FONT}`;
  if (line) context.fillText(fitted(context, line, room), x + 11, y + 36);
  rowsOf(card).forEach(([text, leaf], row) => {
    const at = rowTop(card, y, row);
    if (leaf >= 0) {
      context.fillStyle = rowColour(leaf);
      context.fillRect(x + 11, at + 4, 8, 8);
      context.strokeStyle = looks.scale ? colours.muted : colours.leaf;
      context.lineWidth = 0.7;
      context.strokeRect(x + 11, at + 4, 8, 8);
      if (state.chosen === leaf) { context.strokeStyle = colours.root; context.strokeRect(x + 7.5, at + 0.5, wide - 12, 15); }
    }
    context.fillStyle = colours.ink;
    context.fillText(fitted(context, text, room - 14), x + 25, at + 12);
  });
}

// The module of a card, muted, behind its title.
function paintModule(context, words, x, y, end) {
  if (!words || end - x < 16) return;
  context.fillStyle = looks.colours.muted;
  context.font = `11px ${FONT}`;
  context.fillText(fitted(context, words, end - x), x, y);
}

// The rows of a card: its parameters, the last row counting those that have no room.
const MOST_ROWS_SHOWN = 6, ROW = 16;

function rowsOf(card) {
  const { graph } = state, leaves = graph.rows.get(card) || [];
  const row = (leaf, at) => [graph.rowText(leaf) + graph.useText(card, at), leaf];
  if (leaves.length <= MOST_ROWS_SHOWN) return leaves.map(row);
  const shown = leaves.slice(0, MOST_ROWS_SHOWN - 1).map(row);
  return [...shown, [`and ${leaves.length - shown.length} more`, -1]];
}

const rowTop = (card, y, row) => y + (state.graph.line(state.graph.thingOf(card)) ? 46 : 28) - 3 + ROW * row;

function boxLine(box) {
  const { totals } = state.graph, parts = [plural(totals.nodes[box], "node")];
  if (totals.leaves[box]) parts.push(plural(totals.leaves[box], "parameter"));
  if (totals.saved[box]) parts.push(bytesText(totals.saved[box]));
  return parts.join(" · ");
}

// A text that fits: its middle gives way, because names are told apart by their ends.
const fits = new Map();
function fitted(context, text, room) {
  const key = `${context.font[0]}${Math.round(room)} ${text}`;
  if (fits.has(key)) return fits.get(key);
  let made = text.slice(0, 400);
  for (let keep = made.length; keep > 1 && context.measureText(made).width > room; keep--) {
    const head = Math.ceil(keep / 3);
    made = `${text.slice(0, head)}…${text.slice(text.length - (keep - head - 1))}`;
  }
  if (fits.size > 20000) fits.clear();
  fits.set(key, made);
  return made;
}

// The way from the loss, or the lines of the chosen card.
function paintAccent(context, scale) {
  const { scene, graph, chosen, way } = state;
  if (chosen < 0 && !way) return;
  const card = chosen < 0 ? -1 : scene.visible(graph.cardOf(chosen));
  const links = way ? linksOfWay(way) : scene.isOpen(card) ? [] : linksAt(card);
  context.strokeStyle = looks.colours.root;
  context.lineWidth = way ? Math.max(3, 2.5 / scale) : Math.max(2.2, 1.4 / scale);
  context.beginPath();
  for (const link of links) traceCurve(context, linkPoints(scene, link));
  context.stroke();
}

function paintBorder(context, scale) {
  const { scene, graph, chosen } = state;
  if (chosen < 0) return;
  const card = scene.visible(graph.cardOf(chosen)), border = Math.max(3, 2 / scale);
  const wide = Math.max(scene.width[card], 6 / scale), high = Math.max(scene.height[card], 6 / scale);
  context.strokeStyle = looks.colours.root;
  context.lineWidth = border;
  context.strokeRect(scene.x[card] - border / 2, scene.y[card] - border / 2, wide + border, high + border);
}

// Links that begin or end at a card, at most a few hundred.
function linksAt(card) {
  const { scene, graph } = state, { x, y, width, height } = scene;
  const near = scene.grid.linksIn(x[card] - 1, y[card] - 1, x[card] + width[card] + 1, y[card] + height[card] + 1);
  return near.filter((link) => graph.links.source[link] === card || graph.links.target[link] === card).slice(0, 400);
}
