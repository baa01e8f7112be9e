// ---- boxes: making room when a box opens. Python placed the cards of every box with all boxes in it closed; here
// an open one grows, cards below it move down, and those beside it move aside; what becomes too tall stands in columns.

const HEADER = 30, GAP = 22, MARGIN = 24;
const SHEET = { width: 1200, height: 900 };  // what a reader sees at once between the panes
const ALMOST = 1.12;  // sheets that a drawing may be tall in one column
const HEIGHTS = [750, 600, 900];  // of boxes in a tall drawing, which are tried; the best counts
const FEW_CARDS = 1000;  // to be seen, up to which all are

// Sizes of all boxes and the places of the cards in the boxes to be seen, relative to their box.
class Boxes {
  constructor(graph, open, block) {
    this.graph = graph;
    this.open = open;
    this.block = block;
    this.seen = this.seenBoxes();
  }
  // Take the places that Python gave to all that is seen; an open box without a frame is as large as what it holds.
  take(cards, { spots, sheet }) {
    const { graph } = this, columns = ["x", "y", "width", "height"], placed = new Set([...cards, graph.boxCard(0)]);
    for (const name of columns) this[name] = new Float64Array(graph.cardCount);
    const put = (card, spot) => columns.forEach((name, at) => { this[name][card] = spot[at]; });
    cards.forEach((card, at) => put(card, spots[at]));
    put(graph.boxCard(0), [0, 0, ...sheet]);
    for (const box of this.seen.slice().reverse()) if (!placed.has(graph.boxCard(box))) put(graph.boxCard(box), this.spotAround(box));
    this.spots = this.exits = new Map();
    this.inner = [[sheet[0]], [sheet[1]]];
  }
  spotAround(box) {
    const { x, y, width, height } = this, cards = [...this.graph.inside.row(box)].filter((card) => !this.hides(card));
    const least = (value) => Math.min(...cards.map(value)), most = (value) => Math.max(...cards.map(value)), left = least((card) => x[card]), top = least((card) => y[card]);
    return [left, top, most((card) => x[card] + width[card]) - left, most((card) => y[card] + height[card]) - top];
  }
  // One column if that is hardly taller than the sheet, else the best of a few ways to stand in columns.
  arrange() {
    let best = 0, least = this.placed(best), last = best;
    if (this.inner[1][0] <= ALMOST * SHEET.height) return;
    const few = this.seen.reduce((sum, box) => sum + this.graph.inside.row(box).length, 0) <= FEW_CARDS;
    for (const height of few ? HEIGHTS : HEIGHTS.slice(0, 1)) {
      const cost = this.placed(last = height);
      if (cost < least) [best, least] = [height, cost];
    }
    if (last !== best) this.placed(best);
  }
  // Place everything, boxes inside in columns of a height (0: all in one column); return what it costs a reader.
  placed(height) {
    const { graph } = this, { x, y, width, height: high } = graph.cards;
    [this.x, this.y, this.width, this.height] = [x, y, width, high].map((column) => Float64Array.from(column));
    this.spots = new Map();  // box -> how points of lines in it move; only for boxes that differ from Python's
    this.exits = new Map();  // box that shows one block -> where lines leave it
    this.inner = [Float64Array.from(graph.boxes.innerWidth), Float64Array.from(graph.boxes.innerHeight)];
    this.turns = 0;
    // Boxes inside have higher numbers: their size is known before it is needed.
    for (const box of this.seen.slice().reverse()) this.place(box, height && (box ? { width: SHEET.width, height } : SHEET));
    return screens(this.inner[0][0], this.inner[1][0], SHEET) + this.turns;
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
  place(box, sheet) {
    if (this.block[box] >= 0) this.placeAlone(box, this.alone(box));
    else this.placeAll(box, sheet && this.isTall(box) ? sheet : null);
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
  placeAll(box, sheet) {
    const grown = this.grownCards(box);
    if (!grown.length && !sheet) return;
    const spots = new Spots(this, box, grown, sheet);
    this.spots.set(box, spots);
    this.turns += spots.turns;
    this.inner[0][box] = spots.newWidth;
    this.inner[1][box] = spots.newHeight;
  }
  // Whether the rows of a box may stand in columns: there are some, and Python found a way for its lines.
  isTall(box) {
    const { graph } = this, links = graph.linksIn.row(box);
    return links.length > 0 && links.every((link) => graph.links.pieces[link] > 0);
  }
  grownCards(box) {
    if (this.graph.boxCount === 1) return [];
    return [...this.graph.inside.row(box)].filter((card) => this.isOpen(card));
  }
  isOpen(card) { return card >= this.graph.atomCount && this.open[card - this.graph.atomCount] === 1; }
}
