// ---- filters: the nodes that one looks for first. A filter whose measure was not recorded says so and is off.

const TOP = 20;

const FILTERS = {
  all: { words: "all nodes", needs: [] },
  "no-gradient": {
    words: "parameters without gradient", needs: ["grad_norm"], beside: () => state.data.steps[state.step].unreached,
    fits: (node) => "grad_norm" in measures() && state.graph.isLeaf(node) && measured("grad_norm", node) === undefined,
  },
  "non-finite": {
    words: "NaN or infinity", needs: ["grad_norm", "nan_count", "inf_count", "out_nan_count", "out_inf_count"],
    fits: (node) => ["nan_count", "inf_count", "out_nan_count", "out_inf_count"].some((name) => measured(name, node) > 0) ||
      ["grad_norm", "grad_min", "grad_max"].some((name) => measured(name, node) !== undefined && !Number.isFinite(measured(name, node))),
  },
  zero: {
    words: "gradient all zero", needs: ["grad_norm", "zero_share"],
    fits: (node) => measured("zero_share", node) === 1 || measured("grad_norm", node) === 0,
  },
  slowest: { words: `slowest ${TOP}`, needs: ["time_us"], top: (node) => measured("time_us", node) },
  largest: { words: `largest saved ${TOP}`, needs: [], top: (node) => (state.graph.saved[node] > 0 ? state.graph.saved[node] : undefined) },
};

// Measures that say nothing as a colour, or are a column already.
const UNCOLOURED = ["saved_bytes", "order", "thread", "started_us"];

const recorded = (filter) => !filter.needs.length || beside(filter).length > 0 || filter.needs.some((name) => name in measures());

// What a filter finds that is no node of the graph.
const beside = (filter) => (filter.beside ? filter.beside() : []);

function filteredNodes(filter) {
  const { nodes } = state.graph, hits = new Uint8Array(nodes);
  if (filter.top) {
    const values = [];
    for (let node = 0; node < nodes; node++) if (filter.top(node) !== undefined) values.push([filter.top(node), node]);
    values.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, TOP).forEach(([, node]) => { hits[node] = 1; });
  } else for (let node = 0; node < nodes; node++) if (filter.fits(node)) hits[node] = 1;
  return hits;
}

function applyFilter() {
  const name = byId("filter").value, filter = FILTERS[name];
  state.filtered = name === "all" || !recorded(filter) ? null : filteredNodes(filter);
  relight();
  const count = state.filtered ? state.filtered.reduce((sum, hit) => sum + hit, 0) : 0;
  const more = beside(filter), outside = more.length ? `; in no graph: ${more.join(", ")}` : "";
  say(state.filtered ? `${filter.words}: ${plural(count, "node")}${outside}` : "");
  changed("filter");
}

function fillFilters() {
  const select = byId("filter"), before = select.value || "all";
  select.replaceChildren(...Object.entries(FILTERS).map(([name, filter]) => {
    const option = make("option", filter.words + (recorded(filter) ? "" : " (not recorded)"));
    option.value = name;
    option.disabled = !recorded(filter);
    return option;
  }));
  select.value = FILTERS[before] && recorded(FILTERS[before]) ? before : "all";
}

function fillMeasures() {
  const select = byId("measure"), names = Object.keys(measures()).filter((name) => !UNCOLOURED.includes(name));
  if (state.graph.saved.some((bytes) => bytes >= 0)) names.unshift("saved_bytes");
  const kinds = make("option", "kind of node");
  kinds.value = "";
  select.replaceChildren(kinds, ...names.map((name) => {
    const option = make("option", fullName(name));
    option.value = name;
    return option;
  }));
  if (!names.includes(state.measure)) state.measure = "";
  select.value = state.measure;
}

function colourBy(name) {
  state.measure = name;
  byId("measure").value = name;
  refreshLooks();
  schedule();
}

function watchFilters() {
  byId("filter").addEventListener("change", applyFilter);
  byId("measure").addEventListener("change", (event) => colourBy(event.target.value));
}

function pickNext(select, by = 1) {
  const options = [...select.options].filter((option) => !option.disabled);
  const at = options.findIndex((option) => option.value === select.value);
  select.value = options[(at + by + options.length) % options.length].value;
  select.dispatchEvent(new Event("change"));
  say(select.selectedOptions[0].textContent);
}
