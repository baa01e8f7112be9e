// ---- details: everything known about what is chosen. Every text enters the page through textContent, never as markup.

const details = byId("details");
const roleOf = (node, root) => (state.graph.valuesOnly ? (root ? "result" : "") : root ? "backward starts here" : ROLES[state.graph.of("kind", node)]);
const ROLES = { ghost: "not in the graph: it was cut off", aside: "ran without a gradient", input: "input, no gradient", idle: "parameter without a gradient", leaf: "gradient is accumulated here", function: "custom Function", copy: "write into a view" };
const AROUND = 2, MOST_LINKS = 100;

const say = (text) => { byId("say").textContent = text; };

function quiet(text) {
  const element = make("p", text);
  element.className = "quiet";
  return element;
}

function describe() {
  const { chosen, graph } = state;
  details.replaceChildren();
  details.scrollTop = 0;
  if (chosen < 0) describeGraph();
  else if (!graph.isNode(chosen)) describeBox(chosen - graph.nodes);
  else describeNode(chosen);
}

function describeNode(node) {
  const { graph } = state, root = graph.rootNames.has(node);
  const about = findingsOf(node);
  details.append(make("h2", graph.title(node)), quiet([`n${node}`, roleOf(node, root)].filter(Boolean).join(" · ")));
  about.forEach((finding) => details.append(findingCard(finding)));
  details.append(actions(node), facts(nodeFacts(node)));
  const known = Object.keys(measures()).filter((name) => name !== "saved_bytes" && measured(name, node) !== undefined);
  statistics("Backward", node, known.filter((name) => !isOutput(name)));
  statistics("Forward output", node, known.filter(isOutput));
  const hooks = state.data.steps[state.step].hooks.filter(([hooked]) => hooked === node);
  const kept = state.data.steps[state.step].saved.filter(([keeper]) => keeper === node);
  if (kept.length) details.append(make("h3", `Saved tensors: ${kept.length}`), make("ul", "", ...kept.map(savedRow)));
  if (hooks.length) details.append(make("h3", "Hooks"), make("ul", "", ...hooks.map(([, words]) => make("li", words))));
  const place = graph.of("source", node);
  if (place) details.append(make("h3", "Forward call"), ...sourceLines(...place));
  if (state.way && state.way.at(-1) === node) listNodes("Path from the loss", state.way, (at) => [at, ""]);
  neighbours(node);
  const atom = graph.atoms.ofNode[node], mates = graph.onCard.row(atom);
  listNodes("On the same card", mates.filter((mate) => mate !== node), (mate) => [mate, ""]);
}

function savedRow([, name, tensor, place, bytes, range]) {
  const words = [bytesText(bytes), range && `values ${range}`, place && `made at ${place}`].filter(Boolean).join(" · ");
  return make("li", `${name ? `${clean(name)} ` : ""}${tensor} `, make("small", words));
}

function statistics(heading, node, names) {
  if (!names.length) return;
  const rows = names.map((name) => [measureName(name), measureText(name, measured(name, node)), unsound(name, node)]);
  details.append(make("h3", heading), facts(rows));
}

const unsound = (name, node) => {
  const value = measured(name, node);
  return !Number.isFinite(value) || (/(nan|inf)_count$/.test(name) && value > 0);
};

function nodeFacts(node) {
  const { graph } = state, box = graph.around(graph.atoms.ofNode[node]);
  return [
    ["Operator", graph.of("op", node)], ["Name", graph.of("name", node)], ["Root", graph.rootNames.get(node) === graph.of("name", node) ? "" : graph.rootNames.get(node)],
    ["Shape", graph.of("shape", node)], ["Dtype", graph.of("dtype", node)], ["Scope", graph.of("scope", node) || graph.boxes.path[box]],
    ["Saved", graph.saved[node] >= 0 ? `${bytesText(graph.saved[node])} (${plural(graph.saved[node], "byte")})` : ""],
    ["Sequence", graph.seq[node] >= 0 ? String(graph.seq[node]) : ""],
  ];
}

function facts(rows) {
  const table = make("dl");
  for (const [key, value, odd] of rows) {
    if (!value) continue;
    const entry = make("dd", value);
    if (odd) entry.className = "odd";
    table.append(make("dt", key), entry);
  }
  return table;
}

function actions(node) {
  const shown = state.way && state.way.at(-1) === node;
  const row = make("p", "", button(shown ? "hide the path from the loss" : "path from the loss", () => showWay(shown ? -1 : node), "p"));
  row.className = "tools";
  return row;
}

// The user's lines around a place, the place itself marked.
function sourceLines(file, line, name) {
  const at = make("p", `${placeText(file, line)}${name ? ` in ${name}` : ""}`), block = make("pre");
  const known = Object.hasOwn(state.data.sources, file) ? state.data.sources[file] : {};
  const numbers = [];
  for (let number = line - AROUND; number <= line + AROUND; number++) if (known[number] !== undefined) numbers.push(number);
  const indents = numbers.filter((number) => known[number].trim()).map((number) => known[number].length - known[number].trimStart().length);
  const indent = indents.length ? Math.min(...indents) : 0;
  for (const number of numbers) {
    const row = make("span", "", make("i", String(number)), known[number].slice(indent).replace(/\n$/, ""));
    if (number === line) row.className = "here";
    block.append(row);
  }
  return block.childElementCount ? [at, block] : [at];
}

function neighbours(node) {
  const { graph } = state, { source, target, input, output } = graph.edges;
  const port = (edge) => (output[edge] ? `, output ${output[edge]}` : "");
  listNodes(graph.valuesOnly ? "Takes" : "Gradient goes to (next_functions)", graph.down.row(node), (edge) => [target[edge], `input ${input[edge]}${port(edge)}: `]);
  listNodes(graph.valuesOnly ? "Is taken by" : "Gradient comes from", graph.up.row(node), (edge) => [source[edge], `input ${input[edge]}${port(edge)} of `]);
}

function listNodes(heading, items, entry) {
  if (!items.length) return;
  const list = make("ul"), { graph } = state;
  [...items.slice(0, MOST_LINKS)].forEach((item) => {
    const [node, before] = entry(item), words = graph.isNode(node) ? graph.line(node) : "";
    list.append(make("li", "", before, button(graph.title(node), () => choose(node, true)), ` ${thingName(node)} `, make("small", words)));
  });
  if (items.length > MOST_LINKS) list.append(make("li", `and ${items.length - MOST_LINKS} more`));
  details.append(make("h3", `${heading}: ${items.length}`), list);
}

function describeBox(box) {
  const { graph } = state, { totals } = graph, card = graph.boxCard(box), open = state.open[box] === 1;
  const repeats = graph.boxes.repeats[box];
  details.append(make("h2", graph.boxes.name[box]), quiet([graph.boxes.path[box], repeats ? `${repeats} equal blocks` : ""].filter(Boolean).join(" · ")));
  const tools = make("p", "", button(open ? "close" : "open", () => toggle(card), "Enter"));
  tools.className = "tools";
  if (open && canRoll(graph, box)) {
    const one = state.block[box] >= 0;
    if (one) tools.append(" · ", button("previous block", () => turn(-1, box), ","), " · ", button("next block", () => turn(1, box), "."));
    tools.append(" · ", button(one ? "all blocks" : "one block", () => toggleAll(box), "a"));
  }
  details.append(tools, facts([
    ["Nodes", totals.nodes[box].toLocaleString("en")], ["Parameters", totals.leaves[box] ? String(totals.leaves[box]) : ""],
    ["Saved", totals.saved[box] ? bytesText(totals.saved[box]) : ""], ["Time", boxTime(box)],
  ]));
  operatorTable(nodesOf(box));
  const inner = graph.inside.row(box);
  listNodes("Inside", inner, (at) => [graph.thingOf(at), ""]);
}

// Nodes of a box and of all boxes in it.
function nodesOf(box) {
  const { graph } = state, within = new Uint8Array(graph.boxCount), nodes = [];
  within[box] = 1;
  for (let each = box + 1; each < graph.boxCount; each++) within[each] = within[graph.boxes.parent[each]];
  for (let node = 0; node < graph.nodes; node++) if (within[graph.around(graph.atoms.ofNode[node])]) nodes.push(node);
  return nodes;
}

function boxTime(box) {
  if (!("time_us" in measures())) return "";
  const sum = nodesOf(box).reduce((total, node) => total + (measured("time_us", node) || 0), 0);
  return measureText("time_us", sum);
}

// By what cards are called: the engine's names of nodes stand in their details.
function operatorTable(nodes) {
  const { graph } = state, counts = new Map();
  for (const node of nodes) if (!graph.isLeaf(node)) { const title = graph.title(node); counts.set(title, (counts.get(title) || 0) + 1); }
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 30), table = make("dl");
  for (const [title, count] of most) {
    const searchOp = () => { search.value = `^${title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(Backward\\d*)?$`; runSearch(); };
    table.append(make("dt", "", button(title, searchOp, `search ${title}`)), make("dd", count.toLocaleString("en")));
  }
  details.append(make("h3", "Operators"), table);
}

function describeGraph() {
  const { graph, data, step } = state;
  details.append(make("h2", data.steps[step].label || "Backward graph"), quiet(data.steps[step].headline));
  data.findings.forEach((finding) => details.append(findingCard(finding)));
  if (!graph.forward) details.append(quiet("The forward pass was not recorded, so lines show the direction of gradients only."));
  else if (!data.calls) details.append(quiet("Inputs, frozen parameters and what was cut off are drawn of a recording of level full."));
  const hint = quiet("Choose a card for its operator, tensors, source lines and neighbours; open a box with a double click. Press ? for all keys.");
  hint.classList.add("hint");
  details.append(hint);
  details.append(...memoryParts());
  operatorTable(Array.from({ length: graph.nodes }, (_, node) => node));
}

// ---- findings

const marksHere = (finding) => finding.marks.filter(([step]) => step === state.step);
const findingsOf = (node) => state.data.findings.filter((finding) => marksHere(finding).some(([, marked]) => marked === node));

function findingCard(finding) {
  const card = make("section", "", make("strong", finding.message || finding.kind));
  card.className = `finding ${finding.severity}`;
  for (const [, node, words] of marksHere(finding)) if (words && node === state.chosen) card.append(make("p", words));
  if (finding.remedy) card.append(make("p", `Fix: ${finding.remedy}`));
  if (finding.file) card.append(...sourceLines(finding.file, finding.line, ""));
  if (finding.path.length) card.append(make("h3", "From cause to victim"), make("ol", "", ...callsOnWay(finding).map(pathRow)));
  return card;
}

// A call on the way of a finding; no gradient comes to one that left no node in the graph.
function pathRow({ words, nodes }) {
  const gets = nodes.some((node) => !BESIDE.has(state.graph.of("kind", node)));
  return make("li", "", nodes.length ? button(words, () => choose(nodes[0], true)) : words, make("small", gets ? "" : " no gradient"));
}

// A finding that is about no node of the graph.
function describeFinding(finding) {
  details.replaceChildren(findingCard(finding));
}
