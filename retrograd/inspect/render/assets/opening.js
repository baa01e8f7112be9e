// ---- opening: boxes open and close, cards are chosen; what is looked at stays where it is on the screen.

const MOST_OPENED = 4000;  // cards to be seen after "open all"

function rebuild(anchor = -1) {
  const before = anchor >= 0 ? placeOf(anchor) : null;
  state.scene = new Scene(state.graph, state.open);
  if (before) {
    const after = placeOf(anchor);
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
  const box = card - state.graph.nodes;
  setOpen(box, state.open[box] ? 0 : 1);
};

// Close the box around the chosen card, and choose it.
function closeAround() {
  const { graph, chosen } = state;
  if (chosen < 0) return;
  const own = graph.isBox(chosen) && state.scene.isOpen(chosen) ? chosen - graph.nodes : graph.around(state.scene.visible(chosen));
  if (own < 1) return;
  choose(graph.boxCard(own));
  setOpen(own, 0);
}

// Open every box around a card.
function openTo(card) {
  let any = false;
  for (let box = state.graph.around(card); box > 0; box = state.graph.boxes.parent[box]) {
    if (!state.open[box]) { state.open[box] = 1; any = true; }
  }
  if (any) rebuild();
}

function openAll() {
  const { graph } = state;
  let seen = state.scene.cards.length;
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
  rebuild();
  fit();
}

function resetOpen() {
  state.open = new Uint8Array(state.graph.boxCount);
  for (const box of state.graph.boxes.open) state.open[box] = 1;
}

// Choose a card (-1 for none); with `look`, open the boxes around it and bring it onto the screen.
function choose(card, look = false) {
  state.chosen = card;
  if (card >= 0 && look) {
    openTo(card);
    reveal(card);
  }
  stage.dataset.chosen = card < 0 ? "" : cardName(card);
  remember();
  changed("chosen");
  schedule();
}

const cardName = (card) => (state.graph.isBox(card) ? `b${card - state.graph.nodes}` : `n${card}`);

// The address names what is chosen, so that a link to a node can be sent.
function remember() {
  const { step, chosen } = state;
  try { history.replaceState(null, "", chosen < 0 ? "#" : `#s${step}-${cardName(chosen)}`); } catch (refused) { /* some readers forbid it on file:// */ }
}

function fromAddress(hash) {
  const mark = /^#s(\d+)-([nb])(\d+)$/.exec(hash);
  if (!mark || +mark[1] >= state.data.steps.length) return;
  if (+mark[1] !== state.step) showStep(+mark[1]);
  const limit = mark[2] === "n" ? state.graph.nodes : state.graph.boxCount;
  if (+mark[3] < limit) choose(mark[2] === "n" ? +mark[3] : state.graph.boxCard(+mark[3]), true);
}
