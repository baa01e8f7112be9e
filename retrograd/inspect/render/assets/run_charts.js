// ---- curves on top, events, the map of parameters by steps, and details of the chosen cell

const ROW = 16, LABELS = 190, RIGHT = 12;
// Cividis, which reads alike with every kind of colour vision.
const SCALE = [[0, 32, 77], [0, 67, 110], [64, 84, 108], [102, 105, 112], [134, 126, 120], [168, 149, 114], [204, 175, 96], [240, 203, 61], [255, 234, 70]];
const look = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function colour(share) {
  const at = Math.min(Math.max(share, 0), 1) * (SCALE.length - 1), low = Math.min(Math.floor(at), SCALE.length - 2), rest = at - low;
  return SCALE[low].map((part, index) => Math.round(part + (SCALE[low + 1][index] - part) * rest));
}

function sized(canvas, height) {
  // All charts are as wide as the map, which may have a scroll bar beside it.
  const ratio = window.devicePixelRatio || 1, width = canvas.className === "curve" ? canvas.clientWidth : byId("map").clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  if (canvas.className !== "curve" && canvas.id !== "map") canvas.style.width = `${width}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px sans-serif";
  return { context, width, height };
}

const chartWidth = (width) => Math.max(width - LABELS - RIGHT, 20);
const across = (step, width) => LABELS + ((step - state.from) / (state.to - state.from)) * chartWidth(width);
const stepAt = (x, width) => state.from + ((x - LABELS) / chartWidth(width)) * (state.to - state.from);

function drawAxis({ context, width, height }) {
  const span = state.to - state.from, unit = 10 ** Math.floor(Math.log10(span / 4 || 1)), by = Math.max(1, unit * (span / unit > 20 ? 5 : span / unit > 8 ? 2 : 1));
  context.fillStyle = look("--muted");
  context.strokeStyle = look("--rule");
  context.textAlign = "center";
  for (let step = Math.ceil(state.from / by) * by; step < state.to; step += by) {
    const x = across(step, width);
    context.beginPath(); context.moveTo(x, 0); context.lineTo(x, height - 16); context.stroke();
    context.fillText(step.toLocaleString(), x, height - 4);
  }
}

// A curve with the range of each stretch behind it; steps whose value is no finite number are marked.
function drawCurve(view, values, { low = null, high = null, log = false, label = "", left = LABELS, ink = "--accent" }) {
  const { context, width, height } = view, top = 16, bottom = height - 20;
  const begin = cellOf(state.from), end = cellOf(state.to);
  const part = [values, low, high].filter(Boolean).map((one) => one.subarray(begin, end + 1));
  const ends = part.map((one) => rangeOf(one, log)), lowest = Math.min(...ends.map((one) => one[0])), highest = Math.max(...ends.map((one) => one[1]));
  const up = (value) => {
    const share = log ? (Math.log10(value) - Math.log10(lowest)) / (Math.log10(highest) - Math.log10(lowest) || 1) : (value - lowest) / (highest - lowest || 1);
    return bottom - share * (bottom - top);
  };
  const x = (cell) => left + (((first[cell] + last[cell]) / 2 - state.from) / (state.to - state.from)) * (width - left - RIGHT);
  const good = (value) => Number.isFinite(value) && !(log && value <= 0);
  context.save();
  context.beginPath(); context.rect(left, 0, width - left - RIGHT + 1, height); context.clip();
  if (low && high) {
    context.strokeStyle = look("--accent");
    context.globalAlpha = 0.25;
    context.lineWidth = Math.max(1, (width - left) / Math.max(end - begin, 1));
    for (let cell = begin; cell <= end; cell++) {
      if (!good(low[cell]) || !good(high[cell])) continue;
      context.beginPath(); context.moveTo(x(cell), up(low[cell])); context.lineTo(x(cell), up(high[cell]) - 0.5); context.stroke();
    }
    context.globalAlpha = 1;
  }
  context.strokeStyle = look(ink);
  context.lineWidth = 1.3;
  context.beginPath();
  let down = false;
  for (let cell = begin; cell <= end; cell++) {
    if (!good(values[cell])) { down = false; continue; }
    if (down) context.lineTo(x(cell), up(values[cell])); else context.moveTo(x(cell), up(values[cell]));
    down = true;
  }
  context.stroke();
  context.fillStyle = look("--odd");
  for (let cell = begin; cell <= end; cell++) if (Math.abs(values[cell]) === Infinity) context.fillRect(x(cell) - 1, top, 2, bottom - top);
  context.restore();
  if (ink !== "--accent") return;
  context.fillStyle = look("--ink");
  context.textAlign = "left";
  context.fillText(label, left === LABELS ? 10 : 2, 12);
  context.fillStyle = look("--muted");
  context.textAlign = left === LABELS ? "right" : "left";
  const edge = left === LABELS ? left - 6 : 2;
  context.fillText(short(highest), edge, top + 8);
  context.fillText(short(lowest), edge, bottom);
}

function drawTop() {
  const view = sized(byId("top"), 150), line = lines[state.line];
  drawAxis(view);
  const rate = lines.find((one) => one.name === "rate");
  if (rate && rate !== line) {
    drawCurve(view, rate.values, { ink: "--warn" });
    view.context.fillStyle = look("--warn");
    view.context.textAlign = "left";
    view.context.fillText("rate", 10, 28);
  }
  if (line) drawCurve(view, line.values, { label: line.name });
  drawCursor(view);
}

function drawCursor({ context, width, height }) {
  if (!count) return;
  const x = across((first[state.cell] + last[state.cell]) / 2, width);
  if (x < LABELS || x > width - RIGHT) return;
  context.strokeStyle = look("--ink");
  context.globalAlpha = 0.5;
  context.beginPath(); context.moveTo(x, 0); context.lineTo(x, height); context.stroke();
  context.globalAlpha = 1;
}

function drawEvents() {
  const { context, width, height } = sized(byId("events"), 22);
  context.fillStyle = look("--muted");
  context.fillText("events", 10, 14);
  for (const one of data.happened) {
    if (one.step < state.from || one.step > state.to) continue;
    const x = across(one.step, width), grave = one.kind === "trigger" || one.kind === "exception";
    context.fillStyle = grave ? look("--odd") : look("--warn");
    context.beginPath();
    context.moveTo(x, height - 4); context.lineTo(x - 5, 5); context.lineTo(x + 5, 5);
    context.fill();
  }
}

function shareOf(figure, value, [low, high]) {
  if (!FIGURES[figure].log) return value;
  return value <= 0 ? -1 : (Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low) || 1);
}

function drawMap() {
  const view = sized(byId("map"), Math.max(state.shown.length * ROW + 6, 40)), { context, width } = view;
  const range = rangeOf(grid[state.figure], FIGURES[state.figure].log), wide = chartWidth(width);
  const ratio = window.devicePixelRatio || 1, pixels = Math.max(1, Math.round(wide * ratio)), odd = [194, 24, 122];
  const image = context.createImageData(pixels, state.shown.length || 1), cells = new Int32Array(pixels);
  for (let x = 0; x < pixels; x++) cells[x] = cellOf(state.from + ((x + 0.5) / pixels) * (state.to - state.from));
  state.shown.forEach((row, place) => {
    for (let x = 0; x < pixels; x++) {
      const cell = cells[x], value = valueAt(state.figure, row, cell), at = 4 * (place * pixels + x);
      let parts = [0, 0, 0], seen = 255;
      if (valueAt("bad", row, cell) > 0 || Math.abs(value) === Infinity) parts = odd;
      else if (Number.isNaN(value)) seen = 0;
      else { const share = shareOf(state.figure, value, range); if (share < 0) { parts = [128, 128, 128]; seen = 70; } else parts = colour(share); }
      image.data.set([...parts, seen], at);
    }
  });
  drawRows(context, image, wide);
  const place = state.shown.indexOf(state.row);
  if (place >= 0) {
    context.strokeStyle = look("--accent");
    context.lineWidth = 2;
    context.strokeRect(LABELS, place * ROW + 1, wide, ROW - 2);
  }
  drawCursor(view);
  drawLegend(range);
}

function drawRows(context, image, wide) {
  const sheet = new OffscreenCanvas(image.width, image.height);
  sheet.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  if (state.shown.length) context.drawImage(sheet, 0, 0, image.width, image.height, LABELS, 0, wide, state.shown.length * ROW);
  context.textAlign = "right";
  state.shown.forEach((row, place) => {
    context.fillStyle = row === state.row ? look("--accent") : look("--ink");
    const name = data.parameters[row], fits = name.length > 30 ? `…${name.slice(-29)}` : name;
    context.fillText(fits, LABELS - 6, place * ROW + 12);
  });
}

function drawLegend([low, high]) {
  const legend = byId("legend"), figure = FIGURES[state.figure];
  legend.replaceChildren();
  const bar = make("canvas");
  bar.width = 160; bar.height = 12;
  const context = bar.getContext("2d");
  for (let x = 0; x < 160; x++) { context.fillStyle = `rgb(${colour(x / 159).join(",")})`; context.fillRect(x, 0, 1, 12); }
  const ends = figure.log ? [short(low), short(high)] : ["0", "1"];
  legend.append(`${figure.name}${figure.log ? ", logarithmic" : ""}: ${ends[0]}`, bar, `${ends[1]} · pink: not finite · grey: zero · empty: no gradient`);
}

function describe() {
  const details = byId("details"), row = state.row, cell = state.cell;
  details.replaceChildren();
  if (data.parameters.length && count) {
    details.append(make("h2", data.parameters[row]), make("small", stepsOf(cell)));
    const list = make("dl");
    const at = row * count + cell;
    const facts = [["gradient", short(valueAt("gradient", row, cell)) + (least[at] < greatest[at] ? ` (${short(least[at])} to ${short(greatest[at])})` : "")], ["update ratio", short(valueAt("ratio", row, cell))], ["zeros", short(valueAt("zeros", row, cell))], ["not finite", short(valueAt("bad", row, cell))]];
    for (const [name, value] of facts) list.append(make("dt", name), make("dd", value));
    details.append(list);
    for (const [figure, low, high] of [["gradient", least, greatest], ["ratio", null, null]]) {
      details.append(make("h3", FIGURES[figure].name));
      const curve = make("canvas");
      curve.className = "curve";
      details.append(curve);
      const part = (values) => values && values.subarray(row * count, (row + 1) * count);
      drawCurve(sized(curve, 110), part(grid[figure]), { low: part(low), high: part(high), log: true, left: 44 });
    }
  }
  details.append(make("h3", data.happened.length ? "What happened" : "Nothing went wrong that was looked for"));
  const list = make("ul");
  list.className = "happened";
  for (const one of data.happened) list.append(happening(one));
  details.append(list);
}

function happening(one) {
  const item = make("li");
  item.className = one.kind;
  item.append(make("b", `Step ${one.step.toLocaleString()}`), ` ${one.text}${one.at ? ` ${one.at}` : ""}`);
  for (const finding of one.findings) {
    item.append(make("small", `${finding.kind}: ${finding.message}`));
    if (finding.remedy) item.append(make("small", `fix: ${finding.remedy}`));
  }
  if (one.file) item.append(make("small", `Its graph: retrograd render ${one.file} -o step.html`));
  item.addEventListener("click", () => { goTo(one.step); });
  return item;
}

function paint() { drawTop(); drawEvents(); drawMap(); describe(); }
let asked = false;
function schedule() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; paint(); });
}
