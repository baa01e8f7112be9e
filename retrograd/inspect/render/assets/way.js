// ---- way: the shortest way of a gradient from the loss to a node.

function wayTo(node, starts = state.graph.roots.map(([root]) => root)) {
  const { graph } = state, from = new Int32Array(graph.nodes).fill(-2), queue = [];
  for (const start of starts) if (from[start] === -2) { from[start] = -1; queue.push(start); }
  for (let at = 0; at < queue.length && from[node] === -2; at++) {
    for (const edge of graph.down.row(queue[at])) {
      const target = graph.edges.target[edge];
      if (from[target] === -2) { from[target] = queue[at]; queue.push(target); }
    }
  }
  if (from[node] === -2) return null;
  const way = [];
  for (let at = node; at >= 0; at = from[at]) way.push(at);
  return way.reverse();
}

// A way with all that lies between its nodes: a call may have made several, of which one has its name.
const unbroken = (way) => way.flatMap((node, at) => (at ? wayTo(node, [way[at - 1]])?.slice(1) ?? [node] : [node]));

// Let the nodes of a way and the lines between them stand out.
function light(way) {
  state.way = way && way.length ? way : null;
  stage.dataset.way = state.way ? state.way.length : "";
  relight();
}

// From what caused a finding to what suffers: the calls that it names, as far as they are in the graph, else from one
// of its nodes to the others, else from its node to the loss that it is in. A way goes as gradients do.
function wayOfFinding(finding) {
  const { graph } = state, named = callsOnWay(finding).flatMap(({ nodes }) => nodes);
  const [first, ...others] = [...new Set(marksHere(finding).map(([, node]) => node))].filter((node) => node < graph.nodes);
  if (named.length) return unbroken(named.reverse());
  if (first === undefined) return null;
  return others.length ? [first, ...others] : wayTo(first);
}

// The steps of a finding's path, "relu at net.py:7", each with its nodes in this graph.
function callsOnWay(finding) {
  const { graph } = state, nodes = new Map();
  if (!finding.path.length) return [];
  for (let node = 0; node < graph.nodes; node++) {
    const call = `${graph.title(node)} at ${graph.place(node)}`.toLowerCase();
    if (!nodes.has(call)) nodes.set(call, []);
    nodes.get(call).push(node);
  }
  return finding.path.map((words) => ({ words, nodes: nodes.get(words.toLowerCase()) || [] }));
}

function showWay(node) {
  light(node < 0 || !state.graph.isNode(node) ? null : wayTo(node));
  if (state.way) say(`${state.way.length} nodes from the loss to ${state.graph.title(node)}`);
  changed("chosen");
}

// The lines to be seen that a way runs along.
function linksOfWay(way) {
  const { scene, graph } = state, pairs = new Set(), found = [], atoms = graph.atoms.ofNode, onWay = new Set(way.map((node) => atoms[node]));
  if (state.wayLinks && state.wayLinks.way === way && state.wayLinks.scene === scene) return state.wayLinks.links;
  graph.edges.source.forEach((source, edge) => {
    const from = atoms[source], to = atoms[graph.edges.target[edge]];
    if (from !== to && onWay.has(from) && onWay.has(to)) for (const pair of hops(from, to)) pairs.add(pair);
  });
  const { box, source, target } = scene.graph.links;
  const ends = (link) => (scene.standing ? [scene.sourceOf(link), scene.targetOf(link)] : [source[link], target[link]]);
  for (const link of scene.links) if (pairs.has([box[link], ...ends(link)].join(" "))) found.push(link);
  state.wayLinks = { way, scene, links: found };
  return found;
}

// The links between two atoms, box by box (as in links.py), or the one that joins what is seen of them.
function hops(from, to) {
  const { graph, scene } = state, [upper, lower] = graph.turned ? [to, from] : [from, to];
  return scene.standing ? [`-1 ${scene.visible(upper)} ${scene.visible(lower)}`] : steps(graph, upper, lower);
}

const steps = (graph, source, target) => hopsOf(graph, source, target).flat();

// The links by which a line leaves boxes, the last of them between two cards of one box; then those by which it enters others.
function hopsOf(graph, source, target) {
  const depth = (box) => { let count = 0; for (; box > 0; box = graph.boxes.parent[box]) count++; return count; };
  const out = [], into = [];
  if (source === target) return [out, into];
  let upper = graph.boxes.ofAtom[source], lower = graph.boxes.ofAtom[target];
  while (upper !== lower) {
    if (depth(upper) >= depth(lower)) {
      out.push(`${upper} ${source} ${EXIT}`);
      source = graph.boxCard(upper);
      upper = graph.boxes.parent[upper];
    } else {
      into.unshift(`${lower} ${ENTRY} ${target}`);
      target = graph.boxCard(lower);
      lower = graph.boxes.parent[lower];
    }
  }
  return [[...out, `${upper} ${source} ${target}`], into];
}
