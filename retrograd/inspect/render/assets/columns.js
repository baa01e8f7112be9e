// ---- columns: where the rows of a tall box are cut, so that it fits its sheet and few lines run over (as in pages.py).

const CUT = 0.15, CUT_LINE = 0.25;  // what a cut costs, in sheets, and what twice as many lines through it do
const MOST_COLUMNS = 12, SLACKS = [1.05, 1.2, 1.4];

// How many sheets something fills the longer way; those that fit are equally good.
const screens = (width, height, sheet) => Math.max(width / sheet.width, height / sheet.height, 1);

// The last rows of all columns but the last, and what these cuts cost; passing counts the lines below every row.
function cutsFor(rows, passing, sheet) {
  const costs = rows.map((_, at) => (at + 1 < rows.length ? CUT + CUT_LINE * Math.log2(Math.max(passing[at], 1)) : 0));
  const total = (ends) => ends.reduce((sum, end) => sum + costs[end], 0);
  let best = [], least = fillOf(rows, [], sheet);
  for (const limit of limitsFor(rows, sheet)) {
    const ends = cheapestEnds(rows, limit, costs), cost = fillOf(rows, ends, sheet) + total(ends);
    if (cost < least) [best, least] = [ends, cost];
  }
  return { ends: best, cost: total(best) };
}

const endOf = (row) => row.newTop + row.height + row.growth;

// The heights of columns that are tried.
function limitsFor(rows, sheet) {
  const height = endOf(rows.at(-1)) - rows[0].newTop, room = sheet.height - 2 * TURN_ROOM;
  if (height <= ALMOST * sheet.height) return [];
  const width = Math.max(...rows.map((row) => row.right)) - Math.min(...rows.map((row) => row.left)) + CORRIDOR;
  const ideal = Math.sqrt((height * sheet.width) / (sheet.height * width));
  if (ideal >= MOST_COLUMNS) return SLACKS.map((slack) => (height / Math.round(ideal)) * slack);
  const limits = [1, ...SLACKS].map((slack) => room * slack);
  for (let count = 2; count <= Math.ceil(ideal) + 1; count++) limits.push(...SLACKS.map((slack) => (height / count) * slack));
  return limits;
}

// The last rows of columns no taller than a limit whose cuts cost least together; rows that a column may end with wait,
// lowest first, each cheaper than those above it. Of equally cheap ones the lowest counts, so the first columns are full.
function cheapestEnds(rows, limit, costs) {
  const count = rows.length, total = new Float64Array(count + 1), chosen = new Int32Array(count), waiting = [];
  const cost = (end) => costs[end] + total[end + 1];
  let head = 0;
  for (let first = count - 1; first >= 0; first--) {
    while (waiting.length > head && cost(waiting.at(-1)) > cost(first)) waiting.pop();
    waiting.push(first);
    while (waiting.length - head > 1 && endOf(rows[waiting[head]]) - rows[first].newTop > limit) head++;
    chosen[first] = waiting[head];
    total[first] = cost(waiting[head]);
  }
  const ends = [];
  for (let end = chosen[0]; end < count - 1; end = chosen[end + 1]) ends.push(end);
  return ends;
}

// How many sheets the rows fill in columns that end there.
function fillOf(rows, ends, sheet) {
  let wide = 2 * MARGIN - CORRIDOR, tall = 0, first = 0;
  for (const last of [...ends, rows.length - 1]) {
    const part = rows.slice(first, last + 1);
    wide += Math.max(...part.map((row) => row.right)) - Math.min(...part.map((row) => row.left)) + CORRIDOR;
    tall = Math.max(tall, endOf(rows[last]) - rows[first].newTop);
    first = last + 1;
  }
  return screens(wide, tall + (ends.length ? 2 * TURN_ROOM : 0), sheet);
}
