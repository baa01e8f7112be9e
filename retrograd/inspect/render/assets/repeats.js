// ---- repeats: an open box of equal blocks shows one of them, to be paged through, or all.
//
// state.block[box] is the place of the block that is shown among the cards of its box, -1 where all are. The other
// blocks are hidden: lines to and from them run to where gradients enter and leave the box.

const PAGER = 132;  // room for "‹ 12 of 12 › all" at the right of a header
const ROLLED_LEAST = 290, BRIM = 18;

const canRoll = (graph, box) => graph.boxes.repeats[box] > 1 && graph.inside.row(box).length === graph.boxes.repeats[box];

// Every repeat shows its first block, or the first that is open.
function firstBlocks(graph, open) {
  const all = new Set(graph.boxes.unrolled), block = new Int32Array(graph.boxCount).fill(-1);
  for (const name of Object.keys(graph.boxes.repeats)) {
    const box = +name;
    if (all.has(box) || !canRoll(graph, box)) continue;
    const shown = graph.inside.row(box).findIndex((card) => graph.isBox(card) && open[graph.boxOf(card)]);
    block[box] = Math.max(shown, 0);
  }
  return block;
}

// The card of the block that a box shows alone, -1 where it shows all its cards.
const aloneIn = (graph, block, box) => (block[box] < 0 ? -1 : graph.inside.row(box)[block[box]]);

// Show another block, opened as the one before it was.
function turnTo(box, place) {
  const { graph } = state, cards = graph.inside.row(box), from = aloneIn(graph, state.block, box), to = cards[place];
  state.block[box] = place;
  if (from < 0 || from === to || !graph.isBox(to)) return;
  const [before, after] = [from, to].map((card) => boxesWithin(graph.boxOf(card)));
  if (before.length === after.length) after.forEach((inner, at) => { state.open[inner] = state.open[before[at]]; });
}

// A box and all in it, in order: those of equal blocks correspond.
function boxesWithin(box) {
  const { graph } = state, within = new Set([box]);
  for (let each = box + 1; each < graph.boxCount; each++) if (within.has(graph.boxes.parent[each])) within.add(each);
  return [...within];
}

function turn(by, box = repeatNear()) {
  if (box < 0) return;
  const count = state.graph.boxes.repeats[box], place = (Math.max(state.block[box], 0) + by + count) % count;
  turnTo(box, place);
  rebuild(state.graph.boxCard(box));
  const shown = state.graph.thingOf(aloneIn(state.graph, state.block, box));
  if (state.chosen >= 0) choose(shown);
  say(`${state.graph.title(shown)}: ${place + 1} of ${count} equal blocks`);
}

// Show all blocks of a repeat, or one again.
function toggleAll(box = repeatNear()) {
  if (box < 0) return;
  state.block[box] = state.block[box] < 0 ? 0 : -1;
  rebuild(state.graph.boxCard(box));
}

// The repeat around what is chosen, else the first that is open.
function repeatNear() {
  const { graph, chosen, scene } = state;
  const isRepeat = (box) => state.open[box] && canRoll(graph, box);
  if (chosen >= 0) {
    const card = graph.cardOf(chosen);
    if (graph.isBox(card) && isRepeat(graph.boxOf(card))) return graph.boxOf(card);
    for (let box = graph.around(card); box > 0; box = graph.boxes.parent[box]) if (isRepeat(box)) return box;
  }
  return scene.openBoxes.find(isRepeat) ?? -1;
}

// What stands at the right of the header of an open repeat: words, from, to (from the right side), what a press does.
function pagerOf(box) {
  if (!canRoll(state.graph, box)) return [];
  const all = [state.block[box] < 0 ? "one" : "all", 36, 6, () => toggleAll(box)];
  if (state.block[box] < 0) return [all];
  const words = `${state.block[box] + 1} of ${state.graph.boxes.repeats[box]}`;
  return [["‹", PAGER, PAGER - 22, () => turn(-1, box)], [words, PAGER - 22, 62, null], ["›", 62, 40, () => turn(1, box)], all];
}

function paintPager(context, box, right, top) {
  context.textAlign = "center";
  context.font = `11px ${FONT}`;
  for (const [words, from, to, act] of pagerOf(box)) {
    context.fillStyle = act ? looks.colours.root : looks.colours.muted;
    context.fillText(words, right - (from + to) / 2, top + 20);
  }
}

// Where the words of a pager stand in the window.
function pagerPlaces(box) {
  const { scene, graph } = state, frame = stage.getBoundingClientRect(), card = graph.boxCard(box), right = scene.x[card] + scene.width[card];
  const place = ([words, from, to]) => [words, [(right - (from + to) / 2) * view.scale + view.x + frame.left, (scene.y[card] + 15) * view.scale + view.y + frame.top]];
  return Object.fromEntries(pagerOf(box).map(place));
}

// Press what lies at a point of the sheet; whether there was anything.
function pressPager(x, y) {
  const { scene, graph } = state;
  for (const box of scene.openBoxes) {
    const card = graph.boxCard(box), right = scene.x[card] + scene.width[card];
    if (y < scene.y[card] || y > scene.y[card] + HEADER || x > right || x < right - PAGER) continue;
    const part = pagerOf(box).find(([, from, to]) => x >= right - from && x <= right - to);
    if (part?.[3]) part[3]();
    if (part) return true;
  }
  return false;
}
