// ---- what the page knows: stretches of steps, curves, and figures of each parameter

const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer);

const data = JSON.parse(byId("data").textContent);
const first = floats(data.first), last = floats(data.last), count = first.length;
const grid = { gradient: floats(data.gradient), ratio: floats(data.ratio), zeros: floats(data.zeros), bad: floats(data.bad) };
const least = floats(data.least), greatest = floats(data.greatest);
const lines = data.lines.map((line) => ({ name: `${line.figure} ${line.owner}`.trim(), values: floats(line.values) }));

const FIGURES = {
  gradient: { name: "norm of the gradient", log: true },
  ratio: { name: "update ratio |Δw| / |w|", log: true },
  zeros: { name: "share of zeros", log: false },
};

const state = {
  line: 0, figure: "gradient",
  from: count ? first[0] : 0, to: count ? last[count - 1] + 1 : 1,
  shown: data.parameters.map((_, row) => row), row: 0, cell: count - 1,
};

const valueAt = (figure, row, cell) => grid[figure][row * count + cell];
const stepsOf = (cell) => (first[cell] === last[cell] ? `step ${first[cell].toLocaleString()}` : `steps ${first[cell].toLocaleString()} to ${last[cell].toLocaleString()}`);
const short = (value) => (Number.isNaN(value) ? "none" : Number.isFinite(value) ? Number(value.toPrecision(3)).toString() : String(value));

// The stretch that a step is in, by bisection.
function cellOf(step) {
  let low = 0, high = count - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; if (first[middle] <= step) low = middle; else high = middle - 1; }
  return low;
}

// Least and greatest finite value, of logarithms only of what is above zero.
function rangeOf(values, log) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [log ? 1e-3 : 0, 1] : [low, high];
}
