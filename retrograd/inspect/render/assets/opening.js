// ---- opening: boxes open and close, cards are chosen; what is looked at stays where it is on the screen.

const MOST_OPENED = 4000;  // cards to be seen after "open all"

function rebuild(anchor = -1) {
  const before = anchor >= 0 ? placeOf(anchor) : null;
  state.scene = new Scene(state.graph, state.open, state.block);
  state.hover = [];
  if (before) {
    const after = placeOf(anchor);
    view.moved = true;
    view.x += before[0] - after[0];
    view.y += before[1] - after[1];
  }
  stage.dataset.cards = state.scene.cards.length;
  stage.dataset.open = state.scene.openBoxes.length;
  changed("boxes");
  schedule();
}

function placeOf(card) {
  const seen = state.scene.visible(card), { x, y, width } = state.scene;
  return [(x[seen] + width[seen] / 2) * view.scale + view.x, y[seen] * view.scale + view.y];
}

function setOpen(box, open) {
  if (box < 1 || state.open[box] === open) return;
  state.open[box] = open;
  rebuild(state.graph.boxCard(box));
}

const toggle = (card) => {
  const box = state.graph.boxOf(card);
  setOpen(box, state.open[box] ? 0 : 1);
};

// Close the box around what is chosen, and choose the box.
function closeAround() {
  const { graph, chosen, scene } = state;
  if (chosen < 0) return;
  const card = scene.visible(graph.cardOf(chosen)), own = scene.isOpen(card) ? graph.boxOf(card) : graph.around(card);
  if (own < 1) return;
  choose(graph.boxThing(own));
  setOpen(own, 0);
}

// Open every box around a card, and turn repeats to the block that holds it.
function openTo(card) {
  let any = false;
  for (let inner = card, box = state.graph.around(card); box > 0; inner = state.graph.boxCard(box), box = state.graph.boxes.parent[box]) {
    if (!state.open[box]) { state.open[box] = 1; any = true; }
    const place = state.graph.inside.row(box).indexOf(inner);
    if (state.block[box] >= 0 && state.block[box] !== place) { turnTo(box, place); any = true; }
  }
  if (any) rebuild();
}

function openAll() {
  const { graph } = state;
  let seen = state.scene.cards.length;
  state.block.fill(-1);
  for (let box = 1; box < graph.boxCount && seen < MOST_OPENED; box++) {
    if (state.open[box]) continue;
    state.open[box] = 1;
    seen += graph.inside.row(box).length - 1;
  }
  rebuild();
  fit();
}

function closeAll() {
  state.open.fill(0, 1);
  state.block = firstBlocks(state.graph, state.open);
  rebuild();
  fit();
}

function resetOpen() {
  state.open = firstOpen(state.graph);
  state.block = firstBlocks(state.graph, state.open);
}

function firstOpen(graph) {
  const open = new Uint8Array(graph.boxCount);
  for (const box of graph.boxes.open) open[box] = 1;
  return open;
}

// What stands now where the graph's first picture has its cards (card there -> card now), null where other boxes are
// open than at first: a repeat may show another of its equal blocks.
function standing(graph, open, block) {
  const first = firstOpen(graph), blocks = firstBlocks(graph, first), found = new Map([[graph.boxCard(0), graph.boxCard(0)]]);
  for (const [there, now] of found) {  // grows while it is read
    if (!graph.isBox(there)) continue;
    const [was, is] = [graph.boxOf(there), graph.boxOf(now)];
    if (first[was] !== open[is] || (blocks[was] < 0) !== (block[is] < 0)) return null;
    if (!open[is]) continue;
    const [before, after] = [[was, blocks], [is, block]].map(([box, shown]) => (shown[box] < 0 ? graph.inside.row(box) : [aloneIn(graph, shown, box)]));
    if (before.length !== after.length) return null;
    before.forEach((card, at) => found.set(card, after[at]));
  }
  return found;
}

// Choose a node or box (-1 for none); with `look`, open the boxes around it and bring it onto the screen.
function choose(thing, look = false) {
  state.chosen = thing;
  if (thing >= 0 && look) {
    openTo(state.graph.cardOf(thing));
    reveal(state.graph.cardOf(thing));
  }
  stage.dataset.chosen = thing < 0 ? "" : thingName(thing);
  remember();
  changed("chosen");
  schedule();
}

const thingName = (thing) => (state.graph.isNode(thing) ? `n${thing}` : `b${thing - state.graph.nodes}`);

function thingNamed(name) {
  const number = +name.slice(1), { graph } = state;
  if (name[0] === "b") return number < graph.boxCount ? graph.boxThing(number) : -1;
  return number < graph.nodes ? number : -1;
}

// The address names what is chosen, so that a link to a node can be sent.
function remember() {
  const { step, chosen } = state;
  try { history.replaceState(null, "", chosen < 0 ? "#" : `#s${step}-${thingName(chosen)}`); } catch (refused) { /* some readers forbid it on file:// */ }
}

function fromAddress(hash) {
  const mark = /^#s(\d+)-([nb]\d+)$/.exec(hash);
  if (!mark || +mark[1] >= state.data.steps.length) return;
  if (+mark[1] !== state.step) showStep(+mark[1]);
  choose(thingNamed(mark[2]), true);
}
