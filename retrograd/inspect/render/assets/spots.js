// ---- spots: new places inside one box. Rows of cards keep their order; a row with an open box becomes taller and
// wider. Rows that are too many for the sheet stand in columns; lines from column to column run up between them.

const CORRIDOR = 36, LANE = 8, MOST_LANES = 40;
const TURN_ROOM = 30;  // above and below columns, where lines turn

class Spots {
  constructor(boxes, box, grown, sheet) {
    this.boxes = boxes;
    this.box = box;
    this.cards = boxes.graph.inside.row(box);
    this.old = boxes.graph.cards;
    this.bottom = boxes.graph.boxes.innerHeight[box];
    this.rows = this.findRows();
    this.lines = this.verticals();
    this.growRows();
    this.spreadRows(new Set(grown));
    this.boundRows();
    const cuts = sheet ? cutsFor(this.rows, this.crossings(), sheet) : { ends: [], cost: 0 };
    this.turns = cuts.cost;
    this.columns = this.makeColumns(cuts.ends);
    this.settle();
  }
  findRows() {
    const rows = new Map(), { y, height } = this.old;
    for (const card of this.cards) {
      const top = y[card];
      if (!rows.has(top)) rows.set(top, { top, cards: [], height: 0, shift: 0, growth: 0, knots: null });
      const row = rows.get(top);
      row.cards.push(card);
      row.height = Math.max(row.height, height[card]);
    }
    return [...rows.values()].sort((a, b) => a.top - b.top);
  }
  growRows() {
    let y = this.rows[0].top, before = y;
    for (const row of this.rows) {
      row.growth = Math.max(...row.cards.map((card) => this.boxes.height[card]), row.height) - row.height;
      y += row.top - before;  // the room between rows stays
      row.newTop = y;
      y += row.height + row.growth;
      before = row.top + row.height;
    }
  }
  // Cards and passing lines of a grown row, spread so that nothing overlaps and all stay as near as can be.
  spreadRows(grown) {
    for (const row of this.rows) {
      if (!row.cards.some((card) => grown.has(card))) continue;
      const members = row.cards.map((card) => ({
        at: this.old.x[card] + this.old.width[card] / 2, half: this.boxes.width[card] / 2, card,
      }));
      new Set(this.linesBy(row)).forEach((at) => members.push({ at, half: 2, card: -1 }));
      members.sort((a, b) => a.at - b.at || a.card - b.card);
      const places = spread(members.map((member) => member.at), members.slice(1).map((member, before) =>
        members[before].half + member.half + GAP));
      row.knots = members.map((member, index) => [member.at, places[index]]);
      members.forEach((member, index) => { member.place = places[index]; });
      row.members = members;
    }
  }
  // Where lines pass a row from above it to below it.
  linesBy(row) {
    const bottom = row.top + row.height;
    return this.lines.filter(([, y0, y1]) => y0 <= row.top + 1 && y1 >= bottom - 1).map(([x]) => x);
  }
  // The straight pieces of all lines in this box: x, upper and lower end.
  verticals() {
    const { graph } = this.boxes, found = [];
    for (const link of graph.linksIn.row(this.box)) {
      const points = rawPoints(graph, link);
      for (let at = 0; at + 6 < points.length; at += 6) {
        if (points[at] === points[at + 6]) found.push([points[at], Math.min(points[at + 1], points[at + 7]), Math.max(points[at + 1], points[at + 7])]);
      }
    }
    return found;
  }
  // How far every row reaches to the left and right, with the lines that pass it. Lines right of all cards run in lanes.
  boundRows() {
    const { width } = this.boxes, { x, width: wide } = this.old;
    this.lanesFrom = 2 + this.cards.reduce((right, card) => Math.max(right, x[card] + wide[card]), -Infinity);
    this.lanes = 0;
    for (const row of this.rows) {
      const places = new Map((row.members || []).map((member) => [member.card, member.place]));
      row.place = (card) => places.get(card) ?? x[card] + wide[card] / 2;
      row.left = Math.min(...row.cards.map((card) => row.place(card) - width[card] / 2), ...(row.knots || []).map((knot) => knot[1]));
      row.right = Math.max(...row.cards.map((card) => row.place(card) + width[card] / 2), ...(row.knots || []).map((knot) => knot[1]));
    }
    for (const [at, top, bottom] of this.lines) {
      if (at > this.lanesFrom) this.lanes = Math.max(this.lanes, at - this.lanesFrom + LANE);
      else this.reach(at, this.rowIndex(top), this.rowIndex(bottom));
    }
  }
  reach(at, first, last) {
    for (let index = first; index <= last; index++) {
      const row = this.rows[index];
      if (row.knots) continue;
      row.left = Math.min(row.left, at);
      row.right = Math.max(row.right, at);
    }
  }
  // Per row the lines that run on below it; those that end together are one.
  crossings() {
    const { graph } = this.boxes, { source, target } = graph.links, spans = new Map(), passing = new Float64Array(this.rows.length + 1);
    for (const link of graph.linksIn.row(this.box)) {
      const from = source[link] < 0 ? 0 : this.rowIndex(this.old.y[source[link]]);
      spans.set(target[link], Math.min(from, spans.get(target[link]) ?? Infinity));
    }
    for (const [card, from] of spans) {
      passing[from]++;
      passing[card < 0 ? this.rows.length : Math.max(this.rowIndex(this.old.y[card]), from)]--;
    }
    for (let row = 1; row < passing.length; row++) passing[row] += passing[row - 1];
    return passing;
  }
  makeColumns(ends) {
    const columns = [...ends, this.rows.length - 1].map((last, at) => ({ first: at ? ends[at - 1] + 1 : 0, last, lanes: new Map() }));
    const down = columns.length > 1 ? TURN_ROOM : 0;
    let x = MARGIN;
    columns.forEach((column, at) => {
      const rows = this.rows.slice(column.first, column.last + 1), shift = this.rows[0].top + down - rows[0].newTop;
      const left = Math.min(...rows.map((row) => row.left)), right = Math.max(...rows.map((row) => row.right));
      for (const row of rows) Object.assign(row, { column: at, shift: row.newTop + shift - row.top });
      if (columns.length > 1 && at + 1 < columns.length) this.nameLanes(column);
      Object.assign(column, { dx: x - left, right: x + right - left });
      x = column.right + this.lanes;
      if (at + 1 < columns.length) x += CORRIDOR + LANE * Math.min(column.lanes.size, MOST_LANES);
    });
    this.newWidth = x + MARGIN;
    const last = (column) => this.bottomOf(this.rows[column.last]);
    this.newHeight = Math.max(...columns.map(last)) + this.bottom - this.rows.at(-1).top - this.rows.at(-1).height + down;
    return columns;
  }
  // The lanes right of a column, one for every card to which lines run on; the line farthest to the left turns around
  // all others, below and above.
  nameLanes(column) {
    const { graph } = this.boxes, { source, target } = graph.links, level = this.rows[column.last + 1].top, places = new Map();
    for (const link of graph.linksIn.row(this.box)) {
      const from = source[link] < 0 ? 0 : this.rowIndex(this.old.y[source[link]]);
      const to = target[link] < 0 ? Infinity : this.rowIndex(this.old.y[target[link]]);
      if (from <= column.last && to > column.last) places.set(target[link], this.placeAt(rawPoints(graph, link), level));
    }
    [...places].sort((one, other) => other[1] - one[1]).forEach(([card], lane) => column.lanes.set(card, lane));
  }
  // Where a line comes by a height.
  placeAt(points, level) {
    for (let at = 0; at < points.length; at += 6) if (points[at + 1] >= level - 1) return points[at];
    return points.at(-2);
  }
  // Write the cards' places.
  settle() {
    const { x, y, width } = this.boxes;
    for (const row of this.rows) {
      for (const card of row.cards) {
        x[card] = row.place(card) - width[card] / 2 + this.columns[row.column].dx;
        y[card] = row.top + row.shift;
      }
    }
  }
  // The last row that begins at or above a height.
  rowIndex(y) {
    let low = 0, high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rows[middle].top <= y + 1) low = middle; else high = middle - 1;
    }
    return low;
  }
  rowAt(y) { return this.rows[this.rowIndex(y)]; }
  bottomOf(row) { return row.top + row.height + row.shift + row.growth; }
  mapY(y) {
    const row = this.rowAt(y);
    return y + row.shift + (y > row.top + row.height / 2 ? row.growth : 0);
  }
  mapX(x, y) {
    const row = this.rowAt(y), column = this.columns[row.column];
    if (x > this.lanesFrom) return column.right + x - this.lanesFrom;
    if (!row.knots || y > row.top + row.height + 1 || y < row.top - 1) return x + column.dx;
    let best = row.knots[0];
    for (const knot of row.knots) if (Math.abs(knot[0] - x) < Math.abs(best[0] - x)) best = knot;
    return x + best[1] - best[0] + column.dx;
  }
  // Where a line runs now, from its beginning to its end: the points between its pieces.
  way(points, link, begin, end) {
    const stops = this.withStops(points), found = [begin], last = stops.length - 1;
    for (let at = 1; at <= last; at++) {
      const [from, to] = [this.rowAt(stops[at - 1][1]), this.rowAt(stops[at][1])];
      const next = at === last ? end : [this.mapX(...stops[at]), this.mapY(stops[at][1])];
      if (to.column > from.column) found.push(...this.turn(found.at(-1), next, from, to, link));
      found.push(next);
    }
    return found;
  }
  // From one column to another: down to the end of a row, up between the columns, and over to another row.
  turn([x0, y0], [x1], from, to, link) {
    const column = this.columns[from.column], lane = column.lanes.get(this.boxes.graph.links.target[link]) ?? 0;
    const x = column.right + this.lanes + CORRIDOR / 2 + (lane % MOST_LANES) * LANE, low = Math.max(this.bottomOf(from), y0);
    const high = to.top + to.shift;
    return [[x0, low], [x, low], [x, high], [x1, high]];
  }
  // A line with points where it comes by a row whose cards moved aside, or by the end of a column: it may bend between
  // rows only.
  withStops(points) {
    const ends = turningPoints(points), way = ends.slice(0, 1);
    for (const [x, bottom] of ends.slice(1)) {
      const [before, top] = way.at(-1);
      if (x === before) for (const level of this.levelsIn(top, bottom)) way.push([x, level]);
      way.push([x, bottom]);
    }
    return way;
  }
  levelsIn(top, bottom) {
    let from = 0, { levels } = this;
    for (let high = levels.length; from < high;) {
      const middle = (from + high) >> 1;
      if (levels[middle] <= top) from = middle + 1; else high = middle;
    }
    const found = [];
    for (; from < levels.length && levels[from] < bottom; from++) found.push(levels[from]);
    return found;
  }
  // The upper and lower sides of rows whose cards moved aside and of the first and last rows of columns, and the sides
  // toward them of the rows above and below.
  get levels() {
    if (this.levelsFound) return this.levelsFound;
    const found = new Set(), { rows } = this, bottom = (row) => row.top + row.height;
    rows.forEach((row, at) => {
      const cut = at + 1 < rows.length && rows[at + 1].column !== row.column;
      if (!row.knots && !cut) return;
      if (row.knots) found.add(row.top);
      found.add(bottom(row));
      if (row.knots && at) found.add(bottom(rows[at - 1]));
      if (at + 1 < rows.length) found.add(rows[at + 1].top);
    });
    return (this.levelsFound = [...found].sort((one, other) => one - other));
  }
}

// Where the pieces of a line begin and end, without the corners of turns: those that a level piece joins.
function turningPoints(points) {
  const ends = [];
  for (let at = 0; at < points.length; at += 6) {
    const level = at && points[at + 1] === points[at - 5] && ends.length > 1;
    if (level) ends.pop(); else ends.push([points[at], points[at + 1]]);
  }
  return ends;
}

// Places nearest to the wishes (least squares) with at least the given gaps: pool adjacent violators.
function spread(wishes, gaps) {
  const pools = [];
  let offset = 0;
  wishes.forEach((wish, index) => {
    if (index) offset += gaps[index - 1];
    let pool = { sum: wish - offset, size: 1 };
    while (pools.length && pools.at(-1).sum / pools.at(-1).size > pool.sum / pool.size) {
      const above = pools.pop();
      pool = { sum: above.sum + pool.sum, size: above.size + pool.size };
    }
    pools.push(pool);
  });
  const places = [];
  offset = 0;
  for (const pool of pools) {
    for (let count = 0; count < pool.size; count++) {
      if (places.length) offset += gaps[places.length - 1];
      places.push(pool.sum / pool.size + offset);
    }
  }
  return places;
}
