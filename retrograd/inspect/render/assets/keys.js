// ---- keys: everything can be done without a pointer.

function along(forward) {
  const { graph, chosen } = state;
  if (chosen < 0) { if (graph.roots.length) choose(graph.roots[0][0], true); return; }
  if (!graph.isNode(chosen)) { alongBoxes(forward); return; }
  const edges = forward ? graph.down.row(chosen) : graph.up.row(chosen), ends = forward ? graph.edges.target : graph.edges.source;
  // A weight is a dead end: follow the trunk where there is one.
  const next = edges.find((edge) => !graph.isLeaf(ends[edge])) ?? edges[0];
  if (next !== undefined) choose(ends[next], true);
}

// From a box along the lines to be seen.
function alongBoxes(forward) {
  const { graph, scene } = state, card = graph.cardOf(state.chosen);
  const down = forward !== graph.turned;
  const links = linksAt(card).filter((link) => (down ? scene.sourceOf(link) : scene.targetOf(link)) === card);
  const ends = links.map((link) => (down ? scene.targetOf(link) : scene.sourceOf(link))).filter((card) => card >= 0);
  if (ends.length) choose(graph.thingOf(ends[0]), true);
}

// To the next card on the same level, in walk order.
function aside(by) {
  const { graph, chosen } = state;
  if (chosen < 0) { along(true); return; }
  const card = graph.cardOf(chosen), cards = graph.inside.row(graph.around(card)), at = cards.indexOf(card);
  choose(graph.thingOf(cards[(at + by + cards.length) % cards.length]), true);
}

function enter() {
  const { graph, chosen, scene } = state;
  if (chosen < 0) { along(true); return; }
  const card = scene.visible(graph.cardOf(chosen));
  if (graph.isBox(card)) toggle(card);
}

const filterKey = (number) => () => {
  const option = byId("filter").options[number];
  if (option.disabled) { say(option.textContent); return; }
  byId("filter").value = option.value;
  applyFilter();
};

const KEYS = [
  ["j k", "along the gradient, and back", { j: () => along(true), k: () => along(false) }],
  ["h l", "previous and next card beside it", { h: () => aside(-1), l: () => aside(1) }],
  ["Enter", "open or close the chosen box", { Enter: enter, o: enter }],
  ["c", "close the box around", { c: closeAround }],
  ["O C", "open or close all boxes", { O: openAll, C: closeAll }],
  [", .", "previous and next block of a repeat", { ",": () => turn(-1), ".": () => turn(1) }],
  ["a", "all blocks of a repeat, or one", { a: () => toggleAll() }],
  ["/", "search with a regular expression; Enter and Shift+Enter walk", { "/": () => search.focus() }],
  ["n N", "next and previous match", { n: () => nextMatch(1), N: () => nextMatch(-1) }],
  ["f F", "next and previous finding, with its path from cause to victim", { f: () => nextFinding(1), F: () => nextFinding(-1) }],
  ["p", "path from the loss to the selected node", { p: () => showWay(state.way ? -1 : state.chosen) }],
  ["1 … 5", "without gradient, NaN or infinity, zero, slowest, largest; 6 all", {
    1: filterKey(1), 2: filterKey(2), 3: filterKey(3), 4: filterKey(4), 5: filterKey(5), 6: filterKey(0),
  }],
  ["m M", "colour by the next or previous measure", { m: () => pickNext(byId("measure")), M: () => pickNext(byId("measure"), -1) }],
  ["v", "forward and backward, forward, or backward", { v: () => pickNext(byId("direction")) }],
  ["[ ]", "previous and next step", { "[": () => showStep(state.step - 1), "]": () => showStep(state.step + 1) }],
  ["arrows", "move the drawing; Page Up and Page Down by a screen", {
    ArrowLeft: () => move(80, 0), ArrowRight: () => move(-80, 0), ArrowUp: () => move(0, 80), ArrowDown: () => move(0, -80),
    PageUp: () => move(0, stage.clientHeight * 0.8), PageDown: () => move(0, -stage.clientHeight * 0.8),
  }],
  ["+ − 0", "zoom in, zoom out, show everything", { "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit, Home: openingView }],
  ["g d s", "to the outline, the details, the drawing", {
    g: () => (outline.querySelector("[role=treeitem][tabindex='0']") ?? outline.querySelector("button"))?.focus(), d: () => details.focus(), s: () => stage.focus(),
  }],
  ["t", "light, dark, or as the system has it", { t: nextTheme }],
  ["Esc", "clear selection, path and filter", { Escape: clearAll }],
  ["?", "this list", { "?": showHelp }],
];

function clearAll() {
  search.value = "";
  byId("filter").value = "all";
  state.way = null;
  stage.dataset.way = "";
  runSearch();
  applyFilter();
  choose(-1);
}

function themeChanged() {
  refreshLooks();
  schedule();
}

function keyPressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (/^(SELECT|TEXTAREA)$/.test(event.target.tagName) || (event.target.tagName === "INPUT" && event.target.type !== "range")) return;
  const inPane = details.contains(event.target) || outline.contains(event.target) || event.target === slider;
  if (inPane && /^(Arrow|Page|Home|Enter| )/.test(event.key)) return;
  if (event.target.tagName === "BUTTON" && event.key === "Enter") return;
  actOn(event);
}

function watchKeys() {
  document.addEventListener("keydown", keyPressed);
  byId("zoom-in").addEventListener("click", () => zoom(1.25));
  byId("zoom-out").addEventListener("click", () => zoom(0.8));
  byId("fit").addEventListener("click", fit);
  outside.addEventListener("click", (event) => { event.stopPropagation(); fit(); });
  outside.addEventListener("pointerdown", (event) => event.stopPropagation());
  byId("theme").addEventListener("click", nextTheme);
  byId("help-button").addEventListener("click", showHelp);
}
