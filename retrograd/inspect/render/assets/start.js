// ---- start

async function start() {
  state.data = await readData();
  state.measure = state.data.colorBy;
  state.view = state.data.view;
  state.flags = null;
  when("chosen", describe);
  when("chosen", markOutline);
  when("boxes", markOutline);
  when("boxes", showLegend);
  when("boxes", () => { if (state.chosen >= 0 && !state.graph.isNode(state.chosen)) describe(); });
  sizeCanvas();
  watchPointer();
  watchSearch();
  watchFilters();
  watchSteps();
  watchPrint();
  watchKeys();
  const { hash } = location;
  showStep(state.data.start || 0);
  byId("theme").textContent = `Theme: ${document.documentElement.dataset.theme}`;
  fromAddress(hash);
  window.addEventListener("hashchange", () => fromAddress(location.hash));
  systemDark.addEventListener("change", () => { refreshLooks(); schedule(); });
  new ResizeObserver(sizeCanvas).observe(stage);
  paint();
  // For people who script the page, and for its tests: places of cards on the screen, "n12" or "b3".
  window.retrograd = {
    place: (name) => toScreen(state.graph.cardOf(thingNamed(name))),
    choose: (name) => choose(thingNamed(name), true),
    cards: () => [...state.scene.cards, ...state.scene.openBoxes.map((box) => state.graph.boxCard(box))].map(spotOf),
    lines: () => [...state.scene.links].map((link) => [lineEnds(link), linkPoints(state.scene, link)]),
    screen: (x, y) => [x * view.scale + view.x + stage.getBoundingClientRect().left, y * view.scale + view.y + stage.getBoundingClientRect().top],
    lit: () => [...state.scene.cards].filter((card) => state.lit?.[card]).map((card) => thingName(state.graph.thingOf(card))),
    pagers: () => state.scene.openBoxes.filter((box) => pagerOf(box).length).map((box) => [`b${box}`, pagerPlaces(box)]),
    move, zoom, fit, paint, pending: () => overview.jobs.length,
  };
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
}

// The names of the cards that a line joins, "" where it goes on in or outside of a box.
const lineEnds = (link) => [state.scene.sourceOf(link), state.scene.targetOf(link)].map((card) => (card < 0 ? "" : thingName(state.graph.thingOf(card))));

// Name, name of the box around, left, top, right, bottom on the sheet.
function spotOf(card) {
  const { graph, scene } = state, around = graph.around(card), x = scene.x[card], y = scene.y[card];
  return [thingName(graph.thingOf(card)), around > 0 ? `b${around}` : "", x, y, x + scene.width[card], y + scene.height[card]];
}

start().catch((error) => {
  byId("say").textContent = `This page cannot be shown: ${error.message}`;
  throw error;
});
