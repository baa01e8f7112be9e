// ---- search: a regular expression over everything that names a node.

const search = byId("search"), found = byId("found");

// Every column holds few distinct values, so each is tested once, however many nodes there are.
function searchedNodes(pattern) {
  const { graph } = state, hits = new Uint8Array(graph.nodes);
  const sources = graph.source.values.map((at) => (at ? pattern.test(`${placeText(at[0], at[1])} ${at[2]}`) : false));
  const columns = ["op", "call", "name", "scope", "shape", "dtype"].map((column) => [graph[column].rows, graph[column].values.map((value) => pattern.test(value))]);
  for (const [rows, fitting] of [...columns, [graph.source.rows, sources]]) {
    if (fitting.includes(true)) for (let node = 0; node < graph.nodes; node++) if (fitting[rows[node]]) hits[node] = 1;
  }
  for (const [node, name] of graph.roots) if (pattern.test(name)) hits[node] = 1;
  const number = /^n(\d+)$/.exec(search.value.trim());
  if (number && +number[1] < graph.nodes) hits[+number[1]] = 1;
  return hits;
}

function searchPattern(text) {
  try { return [new RegExp(text, "i"), ""]; } catch (wrong) {
    return [new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"), " as plain text"];
  }
}

function runSearch() {
  const text = search.value.trim();
  state.matches = [];
  state.matchAt = -1;
  search.title = "";
  if (text) {
    const [pattern, note] = searchPattern(text), hits = searchedNodes(pattern);
    state.searched = hits;
    for (let node = 0; node < hits.length; node++) if (hits[node]) state.matches.push(node);
    state.searchNote = note;
  } else state.searched = null;
  showFound();
  relight();
}

function showFound() {
  const { matches, matchAt } = state;
  found.textContent = !search.value.trim() ? "" : (matchAt < 0 ? `${matches.length}` : `${matchAt + 1} of ${matches.length}`) + (state.searchNote || "");
}

function nextMatch(by) {
  const { matches } = state;
  if (!matches.length) return;
  state.matchAt = state.matchAt < 0 && by < 0 ? matches.length - 1 : (state.matchAt + by + matches.length) % matches.length;
  showFound();
  choose(matches[state.matchAt], true);
}

function watchSearch() {
  search.addEventListener("input", runSearch);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { search.value = ""; runSearch(); stage.focus(); }
  });
}

// What stands out: the cards of nodes that search, filter and way all let through, and the boxes around them.
function relight() {
  const { graph, searched, filtered, way } = state;
  state.litVersion = (state.litVersion || 0) + 1;
  state.lit = null;
  if (searched || filtered || way) {
    const lit = (state.lit = new Uint8Array(graph.cardCount)), onWay = way && new Set(way);
    for (let node = 0; node < graph.nodes; node++) {
      if ((!searched || searched[node]) && (!filtered || filtered[node]) && (!onWay || onWay.has(node))) lit[graph.atoms.ofNode[node]] = 1;
    }
    for (let atom = 0; atom < graph.atomCount; atom++) if (lit[atom]) lit[graph.boxCard(graph.around(atom))] = 1;
    for (let box = graph.boxCount - 1; box > 0; box--) if (lit[graph.boxCard(box)]) lit[graph.boxCard(graph.boxes.parent[box])] = 1;
  }
  schedule();
}
