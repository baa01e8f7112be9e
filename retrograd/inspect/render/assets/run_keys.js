// ---- keys and pointer: everything can be done without a pointer

const say = (words) => { byId("say").textContent = words; };
const whole = () => [count ? first[0] : 0, count ? last[count - 1] + 1 : 1];

function zoom(by, centre = null) {
  const [low, high] = whole(), middle = centre ?? (count ? (first[state.cell] + last[state.cell]) / 2 : 0), span = Math.min(Math.max((state.to - state.from) * by, 4), high - low);
  const share = (middle - state.from) / (state.to - state.from);
  pan(middle - share * span, span);
}

function pan(from, span = state.to - state.from) {
  const [low, high] = whole();
  state.from = Math.min(Math.max(from, low), Math.max(low, high - span));
  state.to = state.from + span;
  schedule();
}

function goTo(step) {
  state.cell = cellOf(step);
  if (step < state.from || step > state.to) pan(step - (state.to - state.from) / 2); else schedule();
}

function move(rows, cells) {
  const place = state.shown.indexOf(state.row) + rows;
  if (state.shown.length) state.row = state.shown[Math.min(Math.max(place, 0), state.shown.length - 1)];
  state.cell = Math.min(Math.max(state.cell + cells, 0), Math.max(count - 1, 0));
  const shown = state.shown.indexOf(state.row) * ROW, rowsBox = byId("rows");
  if (shown < rowsBox.scrollTop || shown > rowsBox.scrollTop + rowsBox.clientHeight - ROW) rowsBox.scrollTop = shown - rowsBox.clientHeight / 2;
  if (count) { const step = first[state.cell]; if (step < state.from || step > state.to) pan(step - (state.to - state.from) / 2); }
  schedule();
}

function nextOption(select, by) {
  select.selectedIndex = (select.selectedIndex + by + select.options.length) % select.options.length;
  select.dispatchEvent(new Event("change"));
}

function nextEvent(by) {
  const here = count ? first[state.cell] : 0, steps = data.happened.map((one) => one.step).sort((a, b) => a - b);
  const step = by > 0 ? steps.find((one) => one > last[state.cell]) : steps.filter((one) => one < here).pop();
  if (step === undefined) say("no further event"); else goTo(step);
}

const themeChanged = schedule;

const KEYS = [
  ["arrows", "the parameter above or below, the steps before or behind", { ArrowUp: () => move(-1, 0), ArrowDown: () => move(1, 0), ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1) }],
  ["PageUp PageDown", "earlier or later steps", { PageUp: () => pan(state.from - (state.to - state.from) * 0.8), PageDown: () => pan(state.from + (state.to - state.from) * 0.8) }],
  ["+ − 0", "fewer or more steps, all steps", { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => { [state.from, state.to] = whole(); schedule(); } }],
  ["[ ]", "the event before or behind", { "[": () => nextEvent(-1), "]": () => nextEvent(1) }],
  ["m M", "next or previous figure of the map", { m: () => nextOption(byId("figure"), 1), M: () => nextOption(byId("figure"), -1) }],
  ["l L", "next or previous curve", { l: () => nextOption(byId("line"), 1), L: () => nextOption(byId("line"), -1) }],
  ["/", "only parameters whose name matches", { "/": () => byId("search").focus() }],
  ["t", "light, dark, or as the system has it", { t: nextTheme }],
  ["?", "this list", { "?": showHelp }],
];

function filter() {
  let pattern = null;
  try { pattern = new RegExp(byId("search").value, "i"); } catch { say("no regular expression yet"); return; }
  state.shown = data.parameters.map((_, row) => row).filter((row) => pattern.test(data.parameters[row]));
  if (!state.shown.includes(state.row)) state.row = state.shown[0] ?? 0;
  byId("found").textContent = byId("search").value ? String(state.shown.length) : "";
  schedule();
}

function choose(event) {
  const box = byId("map").getBoundingClientRect(), place = Math.floor((event.clientY - box.top) / ROW);
  if (state.shown[place] === undefined || !count) return;
  state.row = state.shown[place];
  const x = event.clientX - box.left;
  if (x > LABELS) state.cell = cellOf(stepAt(x, box.width));
  schedule();
}

function start() {
  byId("headline").textContent = data.headline;
  lines.forEach((line) => byId("line").add(new Option(line.name)));
  Object.entries(FIGURES).forEach(([name, figure]) => byId("figure").add(new Option(figure.name, name)));
  byId("line").addEventListener("change", (event) => { state.line = event.target.selectedIndex; schedule(); });
  byId("figure").addEventListener("change", (event) => { state.figure = event.target.value; schedule(); });
  byId("search").addEventListener("input", filter);
  byId("search").addEventListener("keydown", (event) => { if (event.key === "Escape" || event.key === "Enter") byId("charts").focus(); event.stopPropagation(); });
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("fit").addEventListener("click", () => { [state.from, state.to] = whole(); schedule(); });
  byId("theme").textContent = `Theme: ${document.documentElement.dataset.theme}`;
  byId("theme").addEventListener("click", nextTheme);
  byId("help-button").addEventListener("click", showHelp);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open || event.target.matches("select, input")) return;
    actOn(event);
  });
  byId("map").addEventListener("click", choose);
  byId("charts").addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && event.target.id === "map") return;
    event.preventDefault();
    const box = byId("top").getBoundingClientRect();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, stepAt(event.clientX - box.left, box.width));
  }, { passive: false });
  window.addEventListener("resize", schedule);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", schedule);
  paint();
  byId("charts").focus();
  // For people who script the page, and for its tests.
  window.retrograd = { state, zoom, pan, goTo, paint, count, parameters: data.parameters };
  document.documentElement.dataset.ready = "yes";
}

start();
