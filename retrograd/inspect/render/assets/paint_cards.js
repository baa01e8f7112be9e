// ---- paint_cards: cards with their words and rows of parameters; from far away plain blocks.

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
    if (scale >= WORDS_FROM) paintWords(context, card, x, y, wide, high);
    else if (scale >= TEXT_FROM) paintLargeWords(context, card, x, y, wide, high, scale);
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

const LEAST_PIXELS = 6.5;  // of lines below a title

// From some way off: what a card is called as large as it can be read and has room for, then its line, place and findings.
function paintLargeWords(context, card, x, y, wide, high, scale) {
  const { graph } = state, { colours } = looks, thing = graph.thingOf(card), box = graph.isBox(card), room = wide - 18;
  const title = box ? `▸ ${graph.title(thing)}` : graph.title(thing) + graph.useText(card), flag = state.flags && state.flags[card] ? "! " : "";
  const module = box ? "" : withRoom(context, flag + title, graph.module(card), room, scale);
  const words = [[flag + title + module, 600, 11, 13, 26, colours.ink], ...(state.notes.get(card) || []).flatMap(([severity, ...lines]) => lines.map((line) => [line, 400, 9, 11, 18, colours[severity]]))];
  words.push([box ? boxLine(graph.boxOf(card)) : graph.line(thing), 400, 9, 11, 18, colours.ink], [box ? graph.boxes.lines[graph.boxOf(card)] : graph.place(thing), 400, 9, 11, 18, colours.muted]);
  const lines = [];
  let used = 0;
  for (const [text, weight, wanted, least, most, colour] of words.filter(([text]) => text)) {
    const size = sizeFor(context, text, weight, room, [least, clamp(wanted / scale, least, most)]);
    if (lines.length && used + 1.25 * size > high - 6) break;
    if (lines.length && size * scale < LEAST_PIXELS) continue;
    used += 1.25 * size;
    lines.push([text, weight, size, colour]);
  }
  let at = y + (high - used) / 2;
  context.textAlign = "left";
  for (const [text, weight, size, colour] of lines) {
    context.fillStyle = colour;
    context.font = `${weight} ${size}px ${FONT}`;
    const named = module && text.endsWith(module) && at === y + (high - used) / 2, head = named ? text.slice(0, -module.length) : text;
    context.fillText(fitted(context, head, room), x + 11, at + size);
    if (named) {
      const after = x + 11 + context.measureText(head).width;
      context.fillStyle = colours.muted;
      context.font = `400 ${size}px ${FONT}`;
      context.fillText(module, after, at + size);
    }
    at += 1.25 * size;
  }
}

// The module of a card as the end of its title, "" where both together would be too small to be read.
function withRoom(context, title, module, room, scale) {
  const most = LEAST_PIXELS / scale;
  context.font = `600 ${most}px ${FONT}`;
  return module && context.measureText(`${title} ${module}`).width <= room ? ` ${module}` : "";
}

// The size of a text that fits a width, between two bounds.
function sizeFor(context, text, weight, room, [least, most]) {
  context.font = `${weight} ${least}px ${FONT}`;
  return Math.floor(2 * clamp((least * room) / Math.max(context.measureText(text).width, 1), least, most)) / 2;
}

function paintWords(context, card, x, y, wide, high) {
  const { graph } = state, { colours } = looks, thing = graph.thingOf(card), box = graph.isBox(card);
  const line = box ? boxLine(graph.boxOf(card)) : graph.line(thing), place = box ? graph.boxes.lines[graph.boxOf(card)] : graph.place(thing), rows = graph.rows.get(card) || [];
  const room = wide - 20, flagged = state.flags && state.flags[card];
  context.textAlign = "left";
  context.fillStyle = colours.ink;
  context.font = `600 13px ${FONT}`;
  const title = box ? `▸ ${graph.title(thing)}` : graph.title(thing) + graph.useText(card), notes = state.notes.get(card) || [], single = !line && !place && !rows.length && !notes.length;
  const top = single ? y + high / 2 + 5 : y + 19;
  const space = room - (flagged ? 14 : 0), shown = fitted(context, title, space);
  context.fillText(shown, x + 11, top);
  if (!box) paintModule(context, graph.module(card), x + 17 + context.measureText(shown).width, top, x + 5 + space);
  if (flagged) { context.fillStyle = colours.odd; context.fillText("!", x + wide - 12, y + 19); }
  context.fillStyle = box ? colours.muted : colours.ink;
  context.font = `11px ${FONT}`;
  if (line) context.fillText(fitted(context, line, room), x + 11, y + 36);
  context.fillStyle = colours.muted;
  if (place) context.fillText(fitted(context, place, room), x + 11, y + (line ? 51 : 36));
  rowsOf(card).forEach(([text, leaf], row) => {
    const at = rowTop(card, y, row);
    if (leaf >= 0) {
      context.fillStyle = rowColour(leaf);
      context.fillRect(x + 11, at + 4, 8, 8);
      context.strokeStyle = looks.scale ? colours.muted : rowColour(leaf);
      context.lineWidth = 0.7;
      context.strokeRect(x + 11, at + 4, 8, 8);
      if (state.chosen === leaf) { context.strokeStyle = colours.root; context.strokeRect(x + 7.5, at + 0.5, wide - 12, 15); }
    }
    context.fillStyle = colours.ink;
    context.fillText(fitted(context, text, room - 14), x + 25, at + 12);
  });
  let at = rowTop(card, y, rowsOf(card).length) + 12;
  for (const [severity, ...lines] of notes) {
    context.fillStyle = colours[severity];
    for (const line of lines) { context.fillText(fitted(context, line, room + 4), x + 11, at); at += NOTE_LINE; }
  }
}

// The module of a card, muted, behind its title.
function paintModule(context, words, x, y, end) {
  if (!words || end - x < 16) return;
  context.fillStyle = looks.colours.muted;
  context.font = `11px ${FONT}`;
  context.fillText(fitted(context, words, end - x), x, y);
}

// The rows of a card: its parameters, the last row counting those that have no room.
const MOST_ROWS_SHOWN = 6, ROW = 16, NOTE_LINE = 15;

function rowsOf(card) {
  const { graph } = state, leaves = graph.rows.get(card) || [];
  const row = (leaf, at) => [graph.rowText(card, leaf) + graph.useText(card, at), leaf];
  if (leaves.length <= MOST_ROWS_SHOWN) return leaves.map(row);
  const shown = leaves.slice(0, MOST_ROWS_SHOWN - 1).map(row);
  return [...shown, [`and ${leaves.length - shown.length} more`, -1]];
}

function rowTop(card, y, row) {
  const { graph } = state, node = graph.thingOf(card), lines = (graph.line(node) ? 1 : 0) + (graph.place(node) ? 1 : 0);
  return y + [25, 43, 58][lines] + ROW * row;
}

function boxLine(box) {
  const { totals } = state.graph, parts = [plural(totals.nodes[box], "node")];
  if (totals.leaves[box]) parts.push(plural(totals.leaves[box], "parameter"));
  if (totals.saved[box]) parts.push(bytesText(totals.saved[box]));
  return parts.join(" · ");
}

// A text that fits: its middle gives way, because names are told apart by their ends.
const fits = new Map();
function fitted(context, text, room) {
  const key = `${context.font.slice(0, 12)}${Math.round(room)} ${text}`;
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
