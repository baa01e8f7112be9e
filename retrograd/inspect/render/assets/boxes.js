// ---- boxes: making room when a box opens. Python placed the cards of every box with all boxes in it closed; here
// an open one grows, cards below it move down, and those beside it move aside.

const HEADER = 30, GAP = 22, MARGIN = 24;

// Sizes of all boxes and the places of the cards in the boxes to be seen, relative to their box.
class Boxes {
  constructor(graph, open, block) {
    this.graph = graph;
    this.open = open;
    this.block = block;
    this.seen = this.seenBoxes();
    const { x, y, width, height } = graph.cards;
    [this.x, this.y, this.width, this.height] = [x, y, width, height].map((column) => Float64Array.from(column));
    this.spots = new Map();  // box -> how points of lines in it move; only for boxes that differ from Python's
    this.exits = new Map();  // box that shows one block -> where lines leave it
    this.inner = [Float64Array.from(graph.boxes.innerWidth), Float64Array.from(graph.boxes.innerHeight)];
    // Boxes inside have higher numbers: their size is known before it is needed.
    for (const box of this.seen.slice().reverse()) this.place(box);
  }
  // Open boxes whose surroundings are open as well, from the outside in.
  seenBoxes() {
    const seen = new Uint8Array(this.graph.boxCount), boxes = [];
    for (let box = 0; box < this.graph.boxCount; box++) {
      const parent = this.graph.boxes.parent[box];
      if (this.open[box] && (parent < 0 || (seen[parent] && !this.hides(this.graph.boxCard(box))))) { seen[box] = 1; boxes.push(box); }
    }
    return boxes;
  }
  alone(box) { return aloneIn(this.graph, this.block, box); }
  // Whether a card gives way to the one block of its box that is shown.
  hides(card) {
    const box = this.graph.around(card);
    return box >= 0 && this.block[box] >= 0 && this.alone(box) !== card;
  }
  place(box) {
    if (this.block[box] >= 0) this.placeAlone(box, this.alone(box));
    else this.placeAll(box);
    if (box > 0) {
      const card = this.graph.boxCard(box);
      this.width[card] = this.inner[0][box];
      this.height[card] = this.inner[1][box] + HEADER;
    }
  }
  placeAlone(box, card) {
    // The line through the block is the middle of the box, so that the trunk stays straight.
    const line = this.portOf(card, "entry"), wide = 2 * (Math.max(line, this.width[card] - line) + MARGIN);
    this.inner[0][box] = Math.max(wide, ROLLED_LEAST);
    this.inner[1][box] = this.height[card] + 2 * BRIM;
    this.x[card] = this.inner[0][box] / 2 - line;
    this.y[card] = BRIM;
    this.exits.set(box, this.x[card] + this.portOf(card, "exit"));
  }
  // Where lines enter or leave a card, from its left side.
  portOf(card, side) { return this.isOpen(card) ? this.port(this.graph.boxOf(card), side) : this.width[card] / 2; }
  port(box, side) {
    if (this.block[box] >= 0) return side === "entry" ? this.inner[0][box] / 2 : this.exits.get(box);
    const at = this.graph.boxes[side][box], spots = this.spots.get(box);
    if (!spots) return at;
    return spots.mapX(at, side === "entry" ? 0 : this.graph.boxes.innerHeight[box]);
  }
  placeAll(box) {
    const grown = this.grownCards(box);
    if (grown.length) {
      const spots = new Spots(this, this.graph.inside.row(box), grown);
      this.spots.set(box, spots);
      this.inner[0][box] = spots.newWidth;
      this.inner[1][box] = spots.mapY(this.graph.boxes.innerHeight[box]);
    }
  }
  grownCards(box) {
    if (this.graph.boxCount === 1) return [];
    return [...this.graph.inside.row(box)].filter((card) => this.isOpen(card));
  }
  isOpen(card) { return card >= this.graph.atomCount && this.open[card - this.graph.atomCount] === 1; }
}

// New places inside one box: rows of cards keep their order; a row with an open box becomes taller and wider.
class Spots {
  constructor(boxes, cards, grown) {
    this.boxes = boxes;
    this.old = boxes.graph.cards;
    this.box = boxes.graph.around(grown[0]);
    this.rows = this.findRows(cards);
    this.growRows();
    this.spreadRows(new Set(grown));
    this.settle(cards);
  }
  findRows(cards) {
    const rows = new Map();
    for (const card of cards) {
      const top = this.old.y[card];
      if (!rows.has(top)) rows.set(top, { top, cards: [], height: 0, shift: 0, growth: 0, knots: null });
      const row = rows.get(top);
      row.cards.push(card);
      row.height = Math.max(row.height, this.old.height[card]);
    }
    return [...rows.values()].sort((a, b) => a.top - b.top);
  }
  growRows() {
    let shift = 0;
    for (const row of this.rows) {
      row.shift = shift;
      row.growth = Math.max(...row.cards.map((card) => this.boxes.height[card]), row.height) - row.height;
      shift += row.growth;
    }
  }
  // Cards and passing lines of a grown row, spread so that nothing overlaps and all stay as near as can be.
  spreadRows(grown) {
    const verticals = this.verticals();
    for (const row of this.rows) {
      if (!row.cards.some((card) => grown.has(card))) continue;
      const bottom = row.top + row.height;
      const members = row.cards.map((card) => ({
        at: this.old.x[card] + this.old.width[card] / 2, half: this.boxes.width[card] / 2, card,
      }));
      const passing = new Set(verticals.filter(([, y0, y1]) => y0 <= row.top + 1 && y1 >= bottom - 1).map(([x]) => x));
      passing.forEach((at) => members.push({ at, half: 2, card: -1 }));
      members.sort((a, b) => a.at - b.at || a.card - b.card);
      const places = spread(members.map((member) => member.at), members.slice(1).map((member, before) =>
        members[before].half + member.half + GAP));
      row.knots = members.map((member, index) => [member.at, places[index]]);
      members.forEach((member, index) => { member.place = places[index]; });
      row.members = members;
    }
  }
  // The straight pieces of all lines in this box: x, upper and lower end.
  verticals() {
    const { graph } = this.boxes, found = [];
    for (const link of graph.linksIn.row(this.box)) {
      const points = rawPoints(graph, link);
      for (let at = 0; at + 6 < points.length; at += 6) if (points[at] === points[at + 6]) found.push([points[at], points[at + 1], points[at + 7]]);
    }
    return found;
  }
  // A line with points where it comes by a row whose cards moved aside: it may bend between rows only.
  withStops(points) {
    const way = points.slice(0, 2);
    for (let at = 0; at + 6 < points.length; at += 6) {
      const [x, top, bottom] = [points[at], points[at + 1], points[at + 7]];
      const stops = x === points[at + 6] ? this.levels.filter((level) => level > top && level < bottom) : [];
      if (!stops.length) { way.push(...points.slice(at + 2, at + 8)); continue; }
      let above = top;
      for (const stop of [...stops, bottom]) {
        way.push(x, (above + stop) / 2, x, (above + stop) / 2, x, stop);
        above = stop;
      }
    }
    return way;
  }
  // The upper and lower sides of rows whose cards moved aside, and the sides toward them of the rows above and below.
  get levels() {
    if (this.levelsFound) return this.levelsFound;
    const found = new Set(), { rows } = this, bottom = (row) => row.top + row.height;
    rows.forEach((row, at) => {
      if (!row.knots) return;
      found.add(row.top).add(bottom(row));
      if (at) found.add(bottom(rows[at - 1]));
      if (at + 1 < rows.length) found.add(rows[at + 1].top);
    });
    return (this.levelsFound = [...found].sort((one, other) => one - other));
  }
  // Write the cards' places and shift everything to the right of the left margin.
  settle(cards) {
    let left = Infinity, right = -Infinity;
    const { x, y, width } = this.boxes;
    for (const row of this.rows) {
      const places = new Map((row.members || []).map((member) => [member.card, member.place]));
      for (const card of row.cards) {
        const centre = places.get(card) ?? this.old.x[card] + this.old.width[card] / 2;
        x[card] = centre - width[card] / 2;
        y[card] = row.top + row.shift;
        left = Math.min(left, x[card]);
        right = Math.max(right, x[card] + width[card]);
      }
      for (const [, place] of row.knots || []) { left = Math.min(left, place); right = Math.max(right, place); }
    }
    this.dx = MARGIN - left;
    for (const card of cards) x[card] += this.dx;
    const before = this.boxes.graph.boxes.innerWidth[this.box];
    this.oldRight = Math.max(...[...cards].map((card) => this.old.x[card] + this.old.width[card]));
    this.growthRight = right - this.oldRight;
    this.newWidth = Math.max(right + this.dx + MARGIN, before + this.growthRight + this.dx);
  }
  // The last row that begins at or above a height.
  rowAt(y) {
    let low = 0, high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rows[middle].top <= y + 1) low = middle; else high = middle - 1;
    }
    return this.rows[low];
  }
  mapY(y) {
    const row = this.rowAt(y);
    if (!row || y < row.top) return y;
    return y + row.shift + (y > row.top + row.height / 2 ? row.growth : 0);
  }
  mapX(x, y) {
    const row = this.rowAt(y);
    if (x > this.oldRight + 2) return x + this.growthRight + this.dx;
    if (!row || !row.knots || y > row.top + row.height + 1) return x + this.dx;
    let best = row.knots[0];
    for (const knot of row.knots) if (Math.abs(knot[0] - x) < Math.abs(best[0] - x)) best = knot;
    return x + best[1] - best[0] + this.dx;
  }
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
