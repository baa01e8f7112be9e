// The page around a drawing: moving, zooming, searching, choosing. Every text from the recording enters the page
// through textContent, never as markup; the drawing and the legend were escaped when they were made.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const stage = byId("stage"), details = byId("details"), search = byId("search"), found = byId("found");
  const drawings = [...stage.querySelectorAll("svg.step")];
  const FAR = 0.34, NEAREST = 4;
  let step = 0, chosen = -1, matches = [], matchAt = -1;
  const views = drawings.map(() => null);
  const links = data.steps.map(() => null);

  const svg = () => drawings[step];
  const graph = () => data.steps[step];
  const nodeElement = (node) => byId(`s${step}-n${node}`);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // ---- view: screen = world * scale + (x, y)
  function apply() {
    const view = views[step];
    svg().querySelector(".world").setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
    svg().classList.toggle("far", view.scale < FAR);
  }
  function extent() {
    return { width: +svg().dataset.width, height: +svg().dataset.height };
  }
  function fitScale() {
    const { width, height } = extent(), pad = 24;
    return Math.min((stage.clientWidth - pad) / width, (stage.clientHeight - pad) / height);
  }
  function fit() {
    const { width, height } = extent();
    const scale = clamp(fitScale(), 1e-4, 1.25);
    views[step] = { scale, x: (stage.clientWidth - width * scale) / 2, y: (stage.clientHeight - height * scale) / 2 };
    apply();
  }
  function start() {
    // A tall drawing opens at its top, large enough to read; a small one as a whole.
    const { width } = extent();
    const scale = clamp(Math.max(fitScale(), Math.min((stage.clientWidth - 24) / width, 1)), Math.min(0.5, 1), 1.25);
    const root = graph().roots.length ? box(graph().roots[0][0]) : null;
    const wide = width * scale > stage.clientWidth;
    const centre = wide && root ? (root.x + root.width / 2) * scale : (width * scale) / 2;
    const tall = extent().height * scale > stage.clientHeight;
    const y = tall ? 8 : (stage.clientHeight - extent().height * scale) / 2;
    views[step] = { scale, x: stage.clientWidth / 2 - centre, y };
    apply();
  }
  function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const view = views[step];
    const scale = clamp(view.scale * factor, Math.min(fitScale() / 2, 0.05), NEAREST);
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    schedule();
  }
  function move(dx, dy) {
    views[step].x += dx;
    views[step].y += dy;
    schedule();
  }
  let scheduled = false;
  function schedule() {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; apply(); });
  }
  function box(node) {
    const element = nodeElement(node);
    if (!element) return null;
    const place = element.transform.baseVal.getItem(0).matrix, card = element.querySelector(".card");
    return { x: place.e, y: place.f, width: +card.getAttribute("width"), height: +card.getAttribute("height") };
  }
  function reveal(node) {
    const place = box(node), view = views[step];
    if (!place) return;
    if (view.scale < 0.5) view.scale = 0.8;
    const x = (place.x + place.width / 2) * view.scale + view.x, y = (place.y + place.height / 2) * view.scale + view.y;
    const inside = x > 60 && y > 40 && x < stage.clientWidth - 60 && y < stage.clientHeight - 40;
    if (!inside) {
      view.x += stage.clientWidth / 2 - x;
      view.y += stage.clientHeight / 2 - y;
    }
    schedule();
  }

  // ---- pointer: one moves, two pinch, a press without a move chooses
  const pointers = new Map();
  let travelled = 0;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    travelled = 0;
  });
  stage.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const dx = event.clientX - last.x, dy = event.clientY - last.y;
    travelled += Math.abs(dx) + Math.abs(dy);
    if (travelled < 4) return;
    stage.setPointerCapture(event.pointerId);
    stage.classList.add("moving");
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1], frame = stage.getBoundingClientRect();
      const before = Math.hypot(last.x - other.x, last.y - other.y);
      const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
      if (before > 0) zoom(after / before, other.x - frame.left, other.y - frame.top);
    } else move(dx, dy);
    last.x = event.clientX;
    last.y = event.clientY;
  });
  function release(event) {
    pointers.delete(event.pointerId);
    if (!pointers.size) stage.classList.remove("moving");
  }
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("click", (event) => {
    if (travelled >= 4) return;
    const card = event.target.closest(".node");
    choose(card ? nodeNumber(card.id) : -1);
  });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const frame = stage.getBoundingClientRect(), unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const turn = clamp(event.deltaY * unit, -240, 240);
    zoom(Math.exp(-turn * (event.ctrlKey ? 0.01 : 0.0018)), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  const nodeNumber = (id) => +id.slice(id.lastIndexOf("n") + 1);

  // ---- links between nodes, made when a step is first looked at
  function neighbours() {
    if (!links[step]) {
      const [sources, targets] = graph().edges;
      const down = graph().op.map(() => []), up = graph().op.map(() => []);
      sources.forEach((source, edge) => { down[source].push(edge); up[targets[edge]].push(edge); });
      links[step] = { down, up, lines: [...svg().querySelectorAll(".edge")] };
    }
    return links[step];
  }

  // ---- choosing a node
  function choose(node, look = false) {
    svg().querySelectorAll(".chosen, .near").forEach((element) => element.classList.remove("chosen", "near"));
    chosen = node;
    if (node >= 0) {
      const { down, up, lines } = neighbours();
      nodeElement(node).classList.add("chosen");
      [...down[node], ...up[node]].forEach((edge) => lines[edge].classList.add("near"));
      if (look) reveal(node);
    }
    remember();
    describe();
  }
  function remember() {
    const mark = chosen >= 0 ? `#s${step}-n${chosen}` : "#";
    try { history.replaceState(null, "", mark); } catch (refused) { /* some readers forbid it on file:// */ }
  }
  function make(tag, text, ...children) {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    element.append(...children);
    return element;
  }
  const title = (node) => graph().name[node] || graph().op[node];
  function describe() {
    details.replaceChildren();
    details.scrollTop = 0;
    if (chosen < 0) { describeGraph(); return; }
    const g = graph(), node = chosen;
    details.append(make("h2", title(node)));
    const kinds = { leaf: "gradient is accumulated here", function: "custom Function", copy: "write into a view" };
    const root = g.roots.find(([start]) => start === node);
    const what = root ? "backward starts here" : kinds[g.kind[node]];
    const quiet = make("p", [`n${node}`, what].filter(Boolean).join(" · "));
    quiet.className = "quiet";
    details.append(quiet, facts(node, root));
    if (g.source[node]) sourceLines(...g.source[node]);
    const { down, up } = neighbours(), [sources, targets, inputs, outputs] = g.edges;
    const port = (edge) => (outputs[edge] ? `, output ${outputs[edge]}` : "");
    list("Gradient goes to (next_functions)", down[node], (edge) => [targets[edge], `input ${inputs[edge]}${port(edge)}: `]);
    list("Gradient comes from", up[node], (edge) => [sources[edge], `input ${inputs[edge]}${port(edge)} of `]);
  }
  function describeGraph() {
    details.append(make("h2", graph().label || "Backward graph"));
    const help = make("p", "Click a card to see its operator, tensor, scope, source line and neighbours.");
    help.className = "quiet";
    details.append(help);
    const counts = new Map();
    graph().op.forEach((op) => counts.set(op, (counts.get(op) || 0) + 1));
    const most = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 40);
    const table = make("dl");
    most.forEach(([op, count]) => {
      const button = make("button", op);
      button.className = "link";
      button.addEventListener("click", () => { search.value = op; runSearch(); });
      table.append(make("dt", `${count} ×`), make("dd", "", button));
    });
    details.append(make("h3", "Operators"), table);
  }
  function facts(node, root) {
    const g = graph(), table = make("dl");
    const rows = [
      ["Operator", g.op[node]], ["Name", g.name[node]], ["Root", root && root[1]], ["Shape", g.shape[node]],
      ["Dtype", g.dtype[node]], ["Scope", g.scope[node]], ["Saved", g.saved[node]],
      ["Sequence", g.seq[node] === null || g.seq[node] === undefined ? "" : String(g.seq[node])],
      ...Object.entries(g.measures).map(([key, values]) => [key, values[node]]),
    ];
    rows.filter(([, value]) => value).forEach(([key, value]) => table.append(make("dt", key), make("dd", value)));
    return table;
  }
  function sourceLines(file, line, name) {
    details.append(make("h3", "Source"), make("p", `${file}:${line}${name ? ` in ${name}` : ""}`));
    const known = Object.prototype.hasOwnProperty.call(data.sources, file) ? data.sources[file] : {};
    const block = make("pre"), around = [-2, -1, 0, 1, 2].map((by) => line + by).filter((at) => known[at] !== undefined);
    const indents = around.filter((at) => known[at].trim()).map((at) => known[at].length - known[at].trimStart().length);
    const indent = indents.length ? Math.min(...indents) : 0;
    for (const at of around) {
      const row = make("span", "", make("i", String(at)), known[at].slice(indent).replace(/\n$/, ""));
      if (at === line) row.className = "here";
      block.append(row);
    }
    if (block.childElementCount) details.append(block);
  }
  function list(heading, edges, entry) {
    if (!edges.length) return;
    const items = make("ul");
    edges.slice(0, 200).forEach((edge) => {
      const [node, before] = entry(edge), button = make("button", title(node));
      button.className = "link";
      button.addEventListener("click", () => choose(node, true));
      items.append(make("li", "", before, button, ` n${node}`));
    });
    if (edges.length > 200) items.append(make("li", `and ${edges.length - 200} more`));
    details.append(make("h3", `${heading}: ${edges.length}`), items);
  }

  // ---- search
  function runSearch() {
    svg().querySelectorAll(".match").forEach((element) => element.classList.remove("match"));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), g = graph();
    matches = [];
    matchAt = -1;
    if (words.length) {
      g.op.forEach((op, node) => {
        const at = g.source[node];
        const text = [op, g.name[node], g.scope[node], g.shape[node], g.dtype[node], `n${node}`, at ? `${at[0]}:${at[1]}` : ""];
        const joined = text.join(" ").toLowerCase();
        if (words.every((word) => joined.includes(word))) matches.push(node);
      });
    }
    matches.forEach((node) => nodeElement(node).classList.add("match"));
    svg().classList.toggle("searching", words.length > 0);
    showFound();
  }
  function showFound() {
    found.textContent = !search.value.trim() ? "" : matchAt < 0 ? `${matches.length}` : `${matchAt + 1} of ${matches.length}`;
  }
  function nextMatch(by) {
    if (!matches.length) return;
    matchAt = matchAt < 0 && by < 0 ? matches.length - 1 : (matchAt + by + matches.length) % matches.length;
    showFound();
    choose(matches[matchAt], true);
  }
  search.addEventListener("input", runSearch);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { search.value = ""; runSearch(); stage.focus(); }
  });

  // ---- keyboard
  function along(forward) {
    if (chosen < 0) { if (graph().roots.length) choose(graph().roots[0][0], true); return; }
    const { down, up } = neighbours(), [sources, targets] = graph().edges;
    const edges = forward ? down[chosen] : up[chosen], ends = forward ? targets : sources;
    // A weight is a dead end: follow the trunk where there is one.
    const next = edges.find((edge) => graph().kind[ends[edge]] !== "leaf") ?? edges[0];
    if (next !== undefined) choose(ends[next], true);
  }
  const keys = {
    ArrowLeft: () => move(80, 0), ArrowRight: () => move(-80, 0), ArrowUp: () => move(0, 80), ArrowDown: () => move(0, -80),
    PageUp: () => move(0, stage.clientHeight * 0.8), PageDown: () => move(0, -stage.clientHeight * 0.8),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit, f: fit, Home: start,
    j: () => along(true), k: () => along(false), n: () => nextMatch(1), N: () => nextMatch(-1),
    "/": () => search.focus(), Escape: () => choose(-1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (!Object.prototype.hasOwnProperty.call(keys, event.key)) return;
    if (details.contains(event.target) && /^(Arrow|Page|Home)/.test(event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  byId("zoom-in").addEventListener("click", () => zoom(1.25));
  byId("zoom-out").addEventListener("click", () => zoom(0.8));
  byId("fit").addEventListener("click", fit);

  // ---- theme
  const themes = ["auto", "light", "dark"], themeButton = byId("theme"), html = document.documentElement;
  function showTheme() { themeButton.textContent = `Theme: ${html.dataset.theme}`; }
  themeButton.addEventListener("click", () => {
    html.dataset.theme = themes[(themes.indexOf(html.dataset.theme) + 1) % themes.length];
    showTheme();
  });

  // ---- steps
  function show(number) {
    step = number;
    drawings.forEach((drawing, index) => drawing.toggleAttribute("hidden", index !== step));
    byId("headline").textContent = graph().headline;
    byId("legend").innerHTML = graph().legend;
    byId("step").value = String(step);
    if (!views[step]) start();
    chosen = -1;
    runSearch();
    describe();
  }
  data.steps.forEach((each, index) => {
    const option = make("option", each.label || `graph ${index}`);
    option.value = String(index);
    byId("step").append(option);
  });
  byId("step-label").hidden = data.steps.length < 2;
  byId("step").addEventListener("change", (event) => { show(+event.target.value); remember(); });
  new ResizeObserver(() => { if (views[step]) schedule(); }).observe(stage);

  function fromAddress() {
    const mark = /^#s(\d+)-n(\d+)$/.exec(location.hash);
    if (!mark || +mark[1] >= data.steps.length || +mark[2] >= data.steps[+mark[1]].op.length) return;
    if (+mark[1] !== step) show(+mark[1]);
    choose(+mark[2], true);
  }
  window.addEventListener("hashchange", fromAddress);
  showTheme();
  show(0);
  fromAddress();
})();
