// ---- steps: the backward runs of one recording, along a slider.

const slider = byId("step");

function showStep(number) {
  const { data } = state, chosen = state.chosen;
  state.step = clamp(number, 0, data.steps.length - 1);
  const graph = graphOf(data.steps[state.step].structure), other = graph !== state.graph;
  state.graph = graph;
  if (other) { resetOpen(); state.chosen = -1; state.way = null; }
  byId("headline").textContent = data.steps[state.step].headline;
  slider.value = String(state.step);
  byId("step-label").textContent = `${data.steps[state.step].label || state.step} · ${data.steps.length} steps`;
  stage.dataset.step = state.step;
  fillMeasures();
  fillFilters();
  fillViews();
  refreshLooks();
  markFindings();
  if (other) showGraph();
  runSearch();
  applyFilter();
  choose(other ? -1 : chosen);
}

function showGraph() {
  state.scene = new Scene(state.graph, state.open, state.block);
  state.hover = [];
  stage.dataset.cards = state.scene.cards.length;
  stage.dataset.open = state.scene.openBoxes.length;
  stage.dataset.view = viewNow();
  openingView();
  fillOutline();
  showLegend();
}

function graphOf(structure) {
  const turned = viewNow() !== "backward";
  return (state.graphs[2 * structure + turned] ??= new Graph(state.data.structures[structure], turned));
}

// Draw the graph with its lines going another way; what is open and chosen stays.
function showView(name) {
  const { chosen } = state;
  state.view = name;
  state.graph = graphOf(state.data.steps[state.step].structure);
  refreshLooks();
  showGraph();
  fillViews();
  relight();
  choose(chosen, chosen >= 0);
}

const VIEWS = { both: "both ways", forward: "forward", backward: "backward" };

function fillViews() {
  const select = byId("direction"), { forward: known, valuesOnly } = state.data.structures[state.data.steps[state.step].structure];
  select.parentElement.hidden = valuesOnly;
  select.replaceChildren(...Object.entries(VIEWS).map(([name, words]) => {
    const option = make("option", name === "backward" || known ? words : `${words} (not recorded)`);
    option.value = name;
    option.disabled = name !== "backward" && !known;
    return option;
  }));
  select.value = viewNow();
}

// Cards that a finding speaks of, and the boxes around them.
function markFindings() {
  const { graph } = state, flags = (state.flags = new Uint8Array(graph.cardCount));
  state.notes = new Map(state.data.steps[state.step].notes.map(([node, notes]) => [graph.atoms.ofNode[node], notes]));
  for (const finding of state.data.findings) {
    for (const [, node] of marksHere(finding)) {
      if (node >= graph.nodes) continue;
      flags[graph.atoms.ofNode[node]] = 1;
      for (let box = graph.around(graph.atoms.ofNode[node]); box > 0; box = graph.boxes.parent[box]) flags[graph.boxCard(box)] = 1;
    }
  }
}

function watchSteps() {
  const count = state.data.steps.length;
  byId("steps").hidden = count < 2;
  slider.max = String(count - 1);
  slider.addEventListener("input", () => showStep(+slider.value));
  byId("direction").addEventListener("change", (event) => showView(event.target.value));
}
