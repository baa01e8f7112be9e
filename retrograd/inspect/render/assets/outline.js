// ---- outline: findings, modules as a tree, parameters.

const outline = byId("outline");
const MOST_ROWS = 300, MOST_SORTED = 10000;

function fillOutline() {
  const { data, graph } = state, parts = [];
  if (data.findings.length) parts.push(section(`Findings ${data.findings.length}`, findingList(data.findings)));
  if (graph.boxCount > 1) {
    const tools = make("p", "", button("open all", openAll), " · ", button("close all", closeAll));
    tools.className = "tools";
    const { modules } = graph.boxes;  // boxes are also repeats of them, and stretches of operators
    parts.push(section(modules ? `Modules ${modules}` : `Boxes ${graph.boxCount - 1}`, tools, moduleTree()));
  }
  const { unreached } = data.steps[state.step];
  if (unreached.length) parts.push(section(`No gradient ${unreached.length}`, unreachedList(unreached)));
  const leaves = parametersInOrder(graph);
  parts.push(section(`Parameters ${leaves.length}`, longList(leaves, parameterRow)));
  outline.replaceChildren(...parts);
  markOutline();
}

// By name, so that those of one module stand together; very many as the walk met them, since sorting takes its time.
function parametersInOrder(graph) {
  const leaves = [];
  for (let node = 0; node < graph.nodes; node++) if (graph.isLeaf(node)) leaves.push(node);
  if (leaves.length > MOST_SORTED) return leaves;
  const { compare } = new Intl.Collator("en", { numeric: true }), names = new Map(leaves.map((node) => [node, graph.title(node)]));
  return leaves.sort((one, other) => compare(names.get(one), names.get(other)) || one - other);
}

function findingList(findings) {
  const list = make("ul");
  list.className = "findings";
  findings.forEach((finding, number) => {
    const item = make("li");
    item.className = finding.severity;
    item.append(button(finding.message || finding.kind, () => showFinding(number), finding.kind));
    if (finding.file) item.append(make("small", placeText(finding.file, finding.line, true)));
    list.append(item);
  });
  return list;
}

// Parameters that are in no graph, and how to find out why.
function unreachedList(names) {
  const list = longList(names, (name) => make("li", name));
  if (!state.data.findings.length) list.prepend(make("li", "", make("small", "Ask why: retrograd diagnose")));
  return list;
}

// A finding leads to its node, with the way from cause to victim lit.
function showFinding(number) {
  state.finding = number;
  const finding = state.data.findings[number], [mark] = [...marksHere(finding), ...finding.marks];
  if (mark && mark[0] !== state.step) showStep(mark[0]);
  choose(mark && mark[1] < state.graph.nodes ? mark[1] : -1, true);
  light(wayOfFinding(finding));
  if (!mark) describeFinding(finding);
}

function nextFinding(by) {
  const count = state.data.findings.length;
  if (!count) { say("No findings"); return; }
  showFinding(((state.finding ?? (by > 0 ? -1 : 0)) + by + count) % count);
  say(`Finding ${state.finding + 1} of ${count}: ${state.data.findings[state.finding].message}`);
}

// A list that shows its beginning, and more when asked.
function longList(items, row) {
  const list = make("ul");
  let shown = 0;
  const more = () => {
    items.slice(shown, shown + MOST_ROWS).forEach((item) => list.append(row(item)));
    shown += MOST_ROWS;
    if (shown < items.length) {
      const rest = make("li", "", button(`${(items.length - shown).toLocaleString("en")} more`, () => { rest.remove(); more(); }));
      list.append(rest);
    }
  };
  more();
  return list;
}

function parameterRow(node) {
  const { graph } = state, item = make("li"), name = graph.title(node);
  const cut = name.lastIndexOf(".") + 1, row = button("", () => choose(node, true), name);
  row.append(make("span", name.slice(0, cut)), name.slice(cut));
  item.append(row, make("small", graph.of("shape", node)));
  item.dataset.thing = thingName(node);
  return item;
}

// ---- the tree of modules (an ARIA tree: arrow keys walk in it)

function moduleTree() {
  const tree = make("ul");
  tree.setAttribute("role", "tree");
  tree.setAttribute("aria-label", "Modules");
  moduleRows(0).forEach((row) => tree.append(row));
  const first = tree.querySelector("[role=treeitem]");
  if (first) first.tabIndex = 0;
  tree.addEventListener("keydown", treeKey);
  return tree;
}

const childBoxes = (box) => [...state.graph.inside.row(box)].filter((card) => state.graph.isBox(card)).map((card) => state.graph.boxOf(card));

const moduleRows = (box) => childBoxes(box).slice(0, MOST_ROWS).map(moduleRow);

function moduleRow(box) {
  const { graph } = state, item = make("li"), label = make("span", "", ...breakable(graph.boxes.name[box])), open = make("i");
  const count = make("small", graph.totals.nodes[box].toLocaleString("en"));
  item.setAttribute("role", "treeitem");
  item.tabIndex = -1;
  item.dataset.box = box;
  label.title = graph.boxes.path[box];
  item.append(make("div", "", open, label, count));
  item.firstChild.addEventListener("click", (event) => {
    if (event.target === open) toggleRow(item);
    else { choose(graph.boxThing(box), true); }
    item.focus();
  });
  return item;
}

// A name that may be broken where a new word begins: TransformerEncoderLayer.
const breakable = (name) => name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));

function toggleRow(item, open = !state.open[+item.dataset.box]) { setOpen(+item.dataset.box, open ? 1 : 0); }

// Rows follow what is open in the drawing.
function markOutline() {
  const { graph, chosen } = state;
  for (const item of outline.querySelectorAll("[role=treeitem]")) {
    const box = +item.dataset.box, open = state.open[box] === 1, inner = childBoxes(box);
    item.setAttribute("aria-expanded", open);
    item.setAttribute("aria-selected", chosen === graph.boxThing(box));
    let list = item.querySelector(":scope > ul");
    if (open && inner.length && !list) {
      list = make("ul", "", ...moduleRows(box));
      list.setAttribute("role", "group");
      item.append(list);
      if (list.querySelector("li")) { markOutline(); return; }
    } else if (!open && list) list.remove();
  }
  for (const item of outline.querySelectorAll("[data-thing]")) item.classList.toggle("chosen", chosen >= 0 && item.dataset.thing === thingName(chosen));
  if (!outline.querySelector("[role=treeitem][tabindex='0']")) {
    const first = outline.querySelector("[role=treeitem]");
    if (first) first.tabIndex = 0;
  }
}

function treeKey(event) {
  const item = event.target.closest("[role=treeitem]");
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const items = [...outline.querySelectorAll("[role=treeitem]")], at = items.indexOf(item), open = state.open[+item.dataset.box] === 1;
  const acts = {
    ArrowDown: () => focusRow(items[at + 1]), ArrowUp: () => focusRow(items[at - 1]),
    Home: () => focusRow(items[0]), End: () => focusRow(items.at(-1)),
    ArrowRight: () => (open ? focusRow(item.querySelector("[role=treeitem]")) : toggleRow(item, true)),
    ArrowLeft: () => (open ? toggleRow(item, false) : focusRow(item.parentElement.closest("[role=treeitem]"))),
    Enter: () => choose(state.graph.boxThing(+item.dataset.box), true), " ": () => toggleRow(item),
  };
  if (!Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  acts[event.key]();
}

function focusRow(item) {
  if (!item) return;
  outline.querySelectorAll("[role=treeitem]").forEach((each) => { each.tabIndex = -1; });
  item.tabIndex = 0;
  item.focus();
}
