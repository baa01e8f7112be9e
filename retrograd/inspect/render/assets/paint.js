// ---- paint: the scene on a canvas, with as much detail as can be read at the scale.

const FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', 'DejaVu Sans', sans-serif";
const TEXT_FROM = 0.38, WORDS_FROM = 0.75, CURVES_FROM = 0.12, ROUND_FROM = 0.3, LABELS_FROM = 0.7;  // scales
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
  sayOutside(rectangle);
}

// How many cards lie on which side of what is seen.
function sayOutside([left, top, right, bottom]) {
  const { cards, x, y, width, height } = state.scene, sides = { left: 0, above: 0, right: 0, below: 0 };
  if (cards.length > MANY) { outside.hidden = true; return; }
  for (const card of cards) {
    const [middle, level] = [x[card] + width[card] / 2, y[card] + height[card] / 2];
    const side = middle < left ? "left" : middle > right ? "right" : level < top ? "above" : level > bottom ? "below" : "";
    if (side) sides[side]++;
  }
  const words = Object.entries(sides).filter(([, count]) => count).map(([side, count]) => `${count} ${side}`);
  outside.hidden = !words.length;
  const text = `Out of view: ${words.join(", ")}`;
  if (outside.textContent !== text) outside.textContent = text;
}

// What lies in a rectangle of the sheet; the context is set to the sheet's coordinates.
function paintScene(context, scale, rectangle, links = state.scene.grid.linksIn(...rectangle)) {
  const { scene, lit } = state, cards = scene.grid.cardsIn(...rectangle);
  paintOpenBoxes(context, scale, rectangle);
  paintLinks(context, scale, links, lit ? DIM : 1);
  paintAccent(context, scale);
  paintHover(context, scale);
  if (scale >= TEXT_FROM && !lit) paintLabels(context, links, scale >= LABELS_FROM);
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
    context.textAlign = "left";
    // The name stays on the screen while its box is larger than the screen.
    const at = Math.min(Math.max(x + 10, left + 10 / scale), x + wide - 60), name = `▾ ${graph.boxes.name[box]}`;
    const room = wide - 24 - (canRoll(graph, box) ? (state.block[box] < 0 ? 36 : PAGER) : 0);
    const end = scene.endings.get(box), cut = end && at === x + 10 ? name.indexOf(": ") : -1;
    const parts = cut < 0 ? [[name, at, room]] : [[name.slice(0, cut), at, end - 20], [name.slice(cut + 2), x + end, room - end]];
    for (const [text, from, space] of parts) {
      context.font = `600 ${sizeFor(context, text, 600, space, [12, clamp(11 / scale, 12, 20)])}px ${FONT}`;
      context.fillText(fitted(context, text, space), from, y + 20);
    }
    if (scale >= TEXT_FROM) paintPager(context, box, x + wide, y);
  });
}

// The way from the loss, or the lines of the chosen card.
function paintAccent(context, scale) {
  const { scene, graph, chosen, way } = state;
  if (chosen < 0 && !way) return;
  const card = chosen < 0 ? -1 : scene.visible(graph.cardOf(chosen));
  const links = way ? linksOfWay(way) : scene.isOpen(card) ? [] : linksAt(card);
  context.strokeStyle = looks.colours.root;
  context.lineWidth = way ? Math.max(3, 2.5 / scale) : Math.max(2.2, 1.4 / scale);
  for (const [group, dash] of [[links.filter((link) => !isCut(link)), []], [links.filter(isCut), [5, 4]]]) {
    context.setLineDash(dash);
    context.beginPath();
    for (const link of group) traceCurve(context, linkPoints(scene, link));
    context.stroke();
  }
  context.setLineDash([]);
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
