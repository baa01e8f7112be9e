// ---- graph: one structure of the data with what is worked out from it.
//
// Nodes stand on cards. A card is an atom (an operator, with its parameters and what only passes its gradient on) or a
// box; cards are numbered atoms first, then boxes. What can be chosen is a thing: nodes first, then boxes.

const OP_ENDING = /(?<=.)Backward\d*$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]+/g;
const ENTRY = -1, EXIT = -2;
// Kinds of nodes that are drawn beside a graph: they get no gradient.
const BESIDE = new Set(["aside", "input", "idle"]);

class Graph {
  // A turned graph is drawn as values go through it, from its inputs down; its edges are still those of gradients.
  constructor(data, turned = false) {
    Object.assign(this, turned ? turnedData(data) : data);
    this.turned = turned;
    this.picture = data.drawn[turned ? "forward" : "backward"];
    this.nodes = data.op.rows.length;
    this.boxCount = data.boxes.parent.length;
    this.atomCount = data.atoms.head.length;
    this.cardCount = this.atomCount + this.boxCount;
    this.rows = new Map(data.atoms.rows.map(([atom, ...leaves]) => [atom, leaves]));
    this.inside = rowsBy(this.boxCount, this.cardCount, (card) => this.around(card));
    this.linksIn = rowsBy(this.boxCount, data.links.box.length, (link) => data.links.box[link]);
    this.hasGhosts = data.kind.values.includes("ghost");
    this.hasBeside = data.kind.values.some((kind) => BESIDE.has(kind));
    this.rootNames = new Map(data.roots);
    this.cutWords = new Map(data.cuts);
    this.firstPoint = this.pointStarts();
    this.shortOps = data.op.values.map((op) => clean(op).replace(OP_ENDING, ""));
  }
  of(column, node) { return this[column].values[this[column].rows[node]]; }
  isBox(card) { return card >= this.atomCount; }
  boxCard(box) { return this.atomCount + box; }
  boxOf(card) { return card - this.atomCount; }
  // The box around a card; -1 around the whole graph.
  around(card) { return card < this.atomCount ? this.boxes.ofAtom[card] : this.boxes.parent[card - this.atomCount]; }
  cardOf(thing) { return thing < this.nodes ? this.atoms.ofNode[thing] : thing - this.nodes + this.atomCount; }
  thingOf(card) { return card < this.atomCount ? this.atoms.head[card] : card - this.atomCount + this.nodes; }
  boxThing(box) { return this.nodes + box; }
  isNode(thing) { return thing < this.nodes; }
  isLeaf(node) { return this.of("kind", node) === "leaf"; }
  // Whether a node is called by its own name, not by an operator's.
  isNamed(node) { return ["leaf", "input", "idle"].includes(this.of("kind", node)); }
  title(thing) {
    if (!this.isNode(thing)) return this.boxes.name[thing - this.nodes];
    return (this.isNamed(thing) && clean(this.of("name", thing))) || clean(this.of("call", thing)) || this.shortOps[this.op.rows[thing]];
  }
  // The module of a card, as far as the box around it does not say it.
  module(card) {
    const node = this.atoms.head[card], part = (path) => path.slice(path.lastIndexOf("/") + 1);
    const found = this.isNamed(node) && this.of("name", node) ? "" : part(clean(this.of("scope", node)));
    return found === part(this.boxes.path[this.around(card)].split("#")[0]) ? "" : found;
  }
  // A parameter in the row of a card: its name as the card's module knows it, since the boxes around say the rest.
  rowText(card, leaf) {
    const name = clean(this.of("name", leaf)) || "leaf", parts = clean(this.of("scope", this.atoms.head[card])).replaceAll("/", ".").split(".");
    const around = parts.map((_, at) => `${parts.slice(at).join(".")}.`).find((path) => name.startsWith(path) && name !== path) || "";
    return `${name.slice(around.length)} ${this.of("shape", leaf)}`;
  }
  // " (2 of 4)" for the second of four places where a leaf is drawn: a row of a card, or (row -1) the card itself.
  useText(atom, row = -1) {
    this.useTexts ??= new Map(this.atoms.uses.flatMap((places) => places.map(
      ([atom, row], at) => [usePlace(atom, row), ` (${at + 1} of ${places.length})`])));
    return this.useTexts.get(usePlace(atom, row)) || "";
  }
  // Name, shape and dtype, as far as the title does not say them.
  line(node) {
    const name = this.rootNames.get(node) || (this.isNamed(node) ? "" : this.of("name", node));
    const tensor = this.tensor(node) + (this.writes(node) ? " · in place" : "");
    return clean(name ? (tensor ? `${name}: ${tensor}` : name) : tensor);
  }
  // Whether a call writes into memory that others see: PyTorch's name of what does so ends in "_".
  writes(node) { return this.of("kind", node) === "copy" || /[^_]_$/.test(this.of("call", node)); }
  // The line of the program that made a node: "train.py:12".
  place(node) {
    const at = ["leaf", "idle"].includes(this.of("kind", node)) ? null : this.of("source", node);
    return at ? placeText(at[0], at[1], true) : "";
  }
  tensor(node) { return [this.of("shape", node), this.of("dtype", node)].filter(Boolean).join(" "); }
  pointStarts() {
    const { pieces } = this.links, starts = new Int32Array(pieces.length);
    for (let link = 0, at = 0; link < pieces.length; link++) {
      starts[link] = at;
      at += 2 * pointCount(pieces[link]);
    }
    return starts;
  }
  // Edges out of every node (along the gradient) and into it.
  get down() { return (this.downRows ??= rowsBy(this.nodes, this.edges.source.length, (edge) => this.edges.source[edge])); }
  get up() { return (this.upRows ??= rowsBy(this.nodes, this.edges.target.length, (edge) => this.edges.target[edge])); }
  // The nodes that stand on each atom.
  get onCard() { return (this.cardRows ??= rowsBy(this.atomCount, this.nodes, (node) => this.atoms.ofNode[node])); }
  // How many nodes and parameters stand in each box or below it, and the bytes they save.
  get totals() { return (this.totalsFound ??= boxTotals(this)); }
}

// Numbers 0..count-1 sorted into rows by a key, in compressed form: row(key) is a view, no array of its own.
function rowsBy(rows, count, key) {
  const starts = new Int32Array(rows + 1), items = new Int32Array(count);
  for (let at = 0; at < count; at++) if (key(at) >= 0) starts[key(at) + 1]++;
  for (let row = 0; row < rows; row++) starts[row + 1] += starts[row];
  const next = starts.slice();
  for (let at = 0; at < count; at++) if (key(at) >= 0) items[next[key(at)]++] = at;
  return { row: (number) => items.subarray(starts[number], starts[number + 1]) };
}

function boxTotals(graph) {
  const zeros = () => new Float64Array(graph.boxCount), totals = { nodes: zeros(), leaves: zeros(), saved: zeros(), live: zeros() };
  for (let node = 0; node < graph.nodes; node++) {
    const box = graph.boxes.ofAtom[graph.atoms.ofNode[node]];
    totals.nodes[box]++;
    if (!BESIDE.has(graph.of("kind", node))) totals.live[box]++;  // it gets a gradient
    if (graph.isLeaf(node)) totals.leaves[box]++;
    totals.saved[box] += Math.max(graph.saved[node], 0);
  }
  for (let box = graph.boxCount - 1; box > 0; box--) {
    for (const column of Object.values(totals)) column[graph.boxes.parent[box]] += column[box];
  }
  return totals;
}

const usePlace = (atom, row) => atom * 2 ** 20 + row + 1;

const clean = (text) => text.replace(CONTROL, " ").trim();

function bytesText(count) {
  if (count < 1000) return `${Number(count.toPrecision(3))} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = count / 1000, unit = 0;
  while (size >= 999.95 && unit < 3) { size /= 1000; unit++; }
  return `${size.toFixed(1)} ${units[unit]}`;
}

// As in the drawings: three digits that count.
function timeText(microseconds) {
  let size = microseconds, unit = 0;
  while (size >= 999.5 && unit < 2) { size /= 1000; unit++; }
  const digits = size < 999.5 ? String(+size.toPrecision(3)) : Math.round(size).toLocaleString("en");
  return `${digits} ${["µs", "ms", "s"][unit]}`;
}

function figure(value) {
  if (!Number.isFinite(value)) return String(value);
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(2);
  return String(+value.toPrecision(4));
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
