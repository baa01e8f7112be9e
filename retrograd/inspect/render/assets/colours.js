// ---- colours: of kinds of cards, or of one chosen measure, with its legend.

const KINDS = {
  root: "root (backward starts here)", op: "operator", leaf: "parameter or other leaf",
  function: "custom Function", copy: "write into a view", box: "box (Enter or a double click opens it)",
};
const MEASURE_NAMES = {
  time_us: "time", grad_norm: "gradient norm", grad_min: "smallest gradient", grad_max: "largest gradient",
  grad_mean: "mean gradient", zero_share: "share of zeros", nan_count: "NaN count", inf_count: "infinity count",
  saved_bytes: "saved bytes",
};
const measureName = (name) => MEASURE_NAMES[name] || name;
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function palette() {
  const wanted = document.documentElement.dataset.theme;
  const dark = wanted === "dark" || (wanted === "auto" && systemDark.matches);
  return state.data.palettes[dark ? "dark" : "light"];
}

const kindOf = (card) => {
  const { graph } = state;
  if (graph.isBox(card)) return "box";
  if (graph.rootNames.has(card)) return "root";
  const kind = graph.of("kind", card);
  return kind in KINDS ? kind : "op";
};

function valueOf(name, node) {
  if (name !== "saved_bytes") return measured(name, node);
  const bytes = state.graph.saved[node];
  return bytes < 0 ? undefined : bytes;
}

function measureText(name, value) {
  if (name === "saved_bytes") return bytesText(value);
  if (name === "time_us") return value < 1000 ? `${figure(value)} µs` : `${figure(value / 1000)} ms`;
  return name === "zero_share" && Number.isFinite(value) ? `${figure(100 * value)} %` : figure(value);
}

// The scale of the chosen measure: every card's step, -1 for unknown, 99 for NaN and infinity. A closed box has the
// highest of the nodes in it.
function makeScale() {
  const name = state.measure, { graph } = state;
  if (!name) return null;
  const values = new Float64Array(graph.cardCount).fill(-Infinity), odd = new Uint8Array(graph.cardCount);
  let low = Infinity, high = -Infinity;
  for (let node = 0; node < graph.nodes; node++) {
    const value = valueOf(name, node);
    if (value === undefined) continue;
    if (!Number.isFinite(value)) { odd[node] = 1; continue; }
    values[node] = value;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  for (let node = 0; node < graph.nodes; node++) raise(graph, values, odd, node);
  for (let card = graph.cardCount - 1; card > graph.nodes; card--) raise(graph, values, odd, card);
  const log = low >= 0 && high > 100, bent = log ? Math.log1p : (value) => value;
  const stepOf = (value) => (high > low ? Math.min(Math.floor((6 * (bent(value) - bent(low))) / (bent(high) - bent(low))), 5) : 0);
  const steps = Int8Array.from(values, (value, card) => (odd[card] ? 99 : value === -Infinity ? -1 : stepOf(value)));
  const bounds = [0, 1, 2, 3, 4, 5].map((step) => bent(low) + ((bent(high) - bent(low)) * step) / 6).map(log ? Math.expm1 : (value) => value);
  return { name, steps, bounds, known: high >= low, odd: odd.includes(1) };
}

function raise(graph, values, odd, card) {
  const around = graph.boxCard(graph.around(card));
  if (values[card] > values[around]) values[around] = values[card];
  if (odd[card]) odd[around] = 1;
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
  const { scale, colours, heat } = looks, kind = kindOf(card), step = scale ? scale.steps[card] : -1;
  const of = (part) => colours[kind === "op" || kind === "box" ? part : `${kind}-${part}`];
  const strip = kind === "box" ? colours.muted : colours[kind];
  if (!scale) return [of("card"), of("rim"), strip];
  if (step === 99) return [of("card"), colours.odd, colours.odd];
  return step < 0 ? [colours.card, colours.rim, colours.rim] : [heat[step], colours.rim, strip];
}

function swatch(fill, rim, words) {
  const mark = make("i"), entry = make("span", "", mark, words);
  mark.style.background = fill;
  mark.style.borderColor = rim;
  entry.className = "key";
  return entry;
}

function showLegend() {
  const { scale, colours, heat } = looks, legend = byId("legend");
  legend.replaceChildren();
  if (scale) {
    legend.append(make("b", measureName(scale.name)));
    if (scale.known) scale.bounds.forEach((bound, step) => legend.append(swatch(heat[step], colours.rim, `≥ ${measureText(scale.name, bound)}`)));
    if (scale.odd) legend.append(swatch(colours.card, colours.odd, "NaN or infinity"));
    legend.append(swatch(colours.card, colours.rim, "not measured"));
    return;
  }
  const { graph } = state, present = new Set(graph.kind.values.map((kind) => (kind in KINDS ? kind : "op")));
  if (graph.roots.length) present.add("root");
  if (graph.boxCount > 1) present.add("box");
  for (const [kind, words] of Object.entries(KINDS)) {
    if (!present.has(kind)) continue;
    const plain = kind === "op" || kind === "box";
    legend.append(swatch(kind === "box" ? colours.muted : colours[kind], plain ? colours.rim : colours[`${kind}-rim`], words));
  }
}
