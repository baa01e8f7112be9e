// ---- colours: of kinds of cards, or of one chosen measure, with its legend.

const MEASURE_NAMES = {
  time_us: "time", grad_norm: "gradient norm", grad_min: "smallest gradient", grad_max: "largest gradient",
  grad_mean: "mean gradient", zero_share: "share of zeros", nan_count: "NaN count", inf_count: "infinity count", nonfinite: "NaN and infinite entries",
  saved_bytes: "saved bytes", order: "execution order", thread: "thread", started_us: "start time",
  out_norm: "norm", out_zero_share: "share of zeros", out_nan_count: "NaN count", out_inf_count: "infinity count",
  out_tiny_share: "share of tiny values",
};
const measureName = (name) => (name === "time_us" && state.data.launched ? "launch time" : MEASURE_NAMES[name] || name);
const isOutput = (name) => name.startsWith("out_");
// The name where it stands alone.
const fullName = (name) => (isOutput(name) && name in MEASURE_NAMES ? `forward: ${MEASURE_NAMES[name]}` : measureName(name));
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function palette() {
  const wanted = document.documentElement.dataset.theme;
  const dark = wanted === "dark" || (wanted === "auto" && systemDark.matches);
  return state.data.palettes[dark ? "dark" : "light"];
}

const kindOf = (card) => {
  const { graph } = state, head = graph.atoms.head[card];
  if (graph.isBox(card)) return graph.totals.live[graph.boxOf(card)] ? "closed" : "aside";
  if (graph.rootNames.has(head)) return "root";
  const kind = graph.of("kind", head);
  return kind in looks.colours ? kind : "op";
};

function valueOf(name, node) {
  if (name !== "saved_bytes") return measured(name, node);
  const bytes = state.graph.saved[node];
  return bytes < 0 ? undefined : bytes;
}

function measureText(name, value) {
  if (name === "saved_bytes") return bytesText(value);
  if (/_us$/.test(name)) return timeText(value);
  return /_share$/.test(name) && Number.isFinite(value) ? `${figure(100 * value)} %` : figure(value);
}

// The scale of the chosen measure: the step of every card and node, -1 for unknown, ODD for NaN and infinity. A card
// has the value of its operator, a closed box the highest in it, with whatever is odd.
const ODD = 99;

function makeScale() {
  const name = state.measure, { graph } = state;
  if (!name) return null;
  const nodes = new Float64Array(graph.nodes), cards = new Float64Array(graph.cardCount).fill(-Infinity);
  for (let node = 0; node < graph.nodes; node++) nodes[node] = ranked(valueOf(name, node));
  for (let node = 0; node < graph.nodes; node++) raise(cards, graph.boxCard(graph.around(graph.atoms.ofNode[node])), nodes[node]);
  for (let atom = 0; atom < graph.atomCount; atom++) cards[atom] = nodes[graph.atoms.head[atom]];
  for (let box = graph.boxCount - 1; box > 0; box--) raise(cards, graph.boxCard(graph.boxes.parent[box]), cards[graph.boxCard(box)]);
  const [low, high] = limits(nodes), log = low >= 0 && high > 100, bent = log ? Math.log1p : (value) => value;
  const share = (value) => (high > low ? (bent(value) - bent(low)) / (bent(high) - bent(low)) : 0);
  const stepOf = (value) => (value === Infinity ? ODD : value === -Infinity ? -1 : Math.min(Math.floor(6 * share(value)), 5));
  const bounds = (high > low ? [0, 1, 2, 3, 4, 5] : [0]).map((step) => bent(low) + ((bent(high) - bent(low)) * step) / 6).map(log ? Math.expm1 : (value) => value);
  return { name, bounds, cards: Int8Array.from(cards, stepOf), nodes: Int8Array.from(nodes, stepOf), known: high >= low, odd: nodes.includes(Infinity) };
}

// Not measured below everything, NaN and infinity above everything.
const ranked = (value) => (value === undefined ? -Infinity : Number.isFinite(value) ? value : Infinity);

function raise(values, at, value) { if (value > values[at]) values[at] = value; }

function limits(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

const looks = { scale: null, colours: null, heat: [] };

function refreshLooks() {
  looks.scale = makeScale();
  looks.colours = palette();
  looks.heat = looks.colours.heat.split(" ");
  showLegend();
}

// Fill, rim and strip of a card.
function cardColours(card) {
  const { scale, colours, heat } = looks, kind = kindOf(card), step = scale ? scale.cards[card] : -1;
  const of = (part) => colours[colours[`${kind}-${part}`] ? `${kind}-${part}` : part];
  const strip = colours[kind] || colours.muted;
  if (!scale) return [of("card"), of("rim"), strip];
  if (step === ODD) return [of("card"), colours.odd, colours.odd];
  return step < 0 ? [colours.card, colours.rim, colours.rim] : [heat[step], colours.rim, strip];
}

// The mark before a parameter in the row of a card.
function rowColour(leaf) {
  const { scale, colours, heat } = looks;
  if (!scale) return colours[state.graph.of("kind", leaf)];
  const step = scale.nodes[leaf];
  return step === ODD ? colours.odd : step < 0 ? colours.rim : heat[step];
}

// A mark as it is drawn: a small card, a line, a dot or an arrow head.
function swatch(fill, rim, words, css = "") {
  const mark = make("i"), entry = make("span", "", mark, words);
  mark.style.background = fill;
  mark.style.borderColor = rim;
  mark.className = css;
  entry.className = "key";
  return entry;
}

function showLegend() {
  const { scale, colours, heat } = looks, legend = byId("legend");
  legend.replaceChildren();
  if (state.scene?.graph !== state.graph) return;  // about to be made: the legend follows it
  if (scale) {
    legend.append(make("b", fullName(scale.name)));
    if (scale.known) scale.bounds.forEach((bound, step) => legend.append(swatch(heat[step], colours.rim, `${scale.bounds.length > 1 ? "≥ " : ""}${measureText(scale.name, bound)}`)));
    if (scale.odd) legend.append(swatch(colours.card, colours.odd, "NaN or infinity"));
    legend.append(swatch(colours.card, colours.rim, "not measured"));
    return;
  }
  const { words, tips, result } = state.data.legend, used = marksInSight();
  for (const [mark, meaning] of Object.entries(words)) {
    if (used.has(mark)) legend.append(markEntry(mark, mark === "root" && state.graph.valuesOnly ? result : meaning));
  }
  for (const [tip, meaning] of Object.entries(tips[state.graph.valuesOnly ? "values" : viewNow()])) {
    legend.append(swatch(tip === "tip" ? colours.line : colours.root, "", meaning, tip));
  }
}

function markEntry(mark, words) {
  const { colours } = looks;
  if (mark === "cut") return swatch("", colours.error, words, "line");
  if (mark === "beside") return swatch("", colours.line, words, "line dotted");
  if (mark === "row" || mark === "idle") return swatch(colours[mark === "row" ? "leaf" : mark], "", words, "dot");
  if (mark === "frame") return swatch(colours.card, colours.rim, words);
  if (mark === "pile" || mark === "counted" || mark === "place") return swatch("", "", words, "none");
  if (!colours[`${mark}-card`] && mark !== "op") return swatch(colours.card, colours[mark], words);
  if (mark === "ghost") return swatch(colours["ghost-card"], colours["ghost-rim"], words, "dashed");
  return swatch(colours[mark], colours[`${mark}-rim`] || colours.rim, words);
}

// The marks that the picture uses as it is open now.
function marksInSight() {
  const { graph, scene } = state, { boxes } = graph, used = new Set(), links = [...scene.links];
  for (const card of scene.cards) {
    used.add(kindOf(card));
    for (const leaf of graph.rows.get(card) || []) used.add(graph.isLeaf(leaf) ? "row" : "idle");
    if (boxes.repeats[graph.boxOf(card)] > 1) used.add("pile");
    if (graph.useText(card) || (graph.rows.get(card) || []).some((_, row) => graph.useText(card, row))) used.add("place");
    for (const [severity] of state.notes.get(card) || []) used.add(severity);
  }
  if (scene.openBoxes.length) used.add("frame");
  if (scene.openBoxes.some((box) => state.block[box] >= 0)) used.add("pile");
  if ((graph.hasGhosts || graph.cutWords.size) && links.some(isCut)) used.add("cut");
  if (graph.hasBeside && links.some(isBeside)) used.add("beside");
  if (links.some((link) => graph.links.count[link] > 1)) used.add("counted");
  return used;
}
