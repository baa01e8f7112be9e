// ---- scene: everything to be seen now, in absolute places, with a grid that finds what lies in a rectangle.

class Scene {
  constructor(graph, open, block) {
    this.graph = graph;
    this.boxes = new Boxes(graph, open, block);
    this.cards = [];
    this.links = [];
    this.endings = new Map();  // of frames that Python placed: where the class in their title stands, beside lines
    this.standing = graph.picture ? standing(graph, open, block) : null;
    if (this.standing) this.takePicture(graph.picture); else this.boxes.arrange();
    Object.assign(this, { x: this.boxes.x, y: this.boxes.y, width: this.boxes.width, height: this.boxes.height });
    const root = graph.boxCard(0);
    this.x[root] = this.y[root] = 0;
    this.sheet = { width: this.boxes.inner[0][0], height: this.boxes.inner[1][0] };
    if (!this.standing) {
      this.openBoxes = this.boxes.seen.slice(1);
      for (const box of this.boxes.seen) this.addBox(box);
    }
    this.cards = Int32Array.from(this.cards);
    this.links = Int32Array.from(this.links);
    this.ports = this.standing ? null : new Ports(this);
    this.grid = new Grid(this);
  }
  // What Python placed, as long as nothing has been opened or closed.
  takePicture(picture) {
    const now = (card) => this.standing.get(card), frames = picture.frames.map((box) => now(this.graph.boxCard(box)));
    this.cards = picture.cards.map(now);
    this.openBoxes = frames.map((card) => this.graph.boxOf(card));
    this.endings = new Map(this.openBoxes.map((box, at) => [box, picture.spots[picture.cards.length + at][4]]));
    this.links = Array.from({ length: picture.links }, (_, at) => picture.first + at);
    this.boxes.take([...this.cards, ...frames], picture);
  }
  isOpen(card) { return this.boxes.isOpen(card); }
  // The place on the sheet that coordinates inside a box count from.
  origin(box) {
    const card = this.graph.boxCard(box);
    return [this.x[card], this.y[card] + (box ? HEADER : 0)];
  }
  // Where a link passes the frame of an open box, from its left side.
  port(box, side, link) { return this.boxes.port(box, side) + (this.ports?.shift(box, side, link) ?? 0); }
  addBox(box) {
    const [left, top] = this.origin(box), moved = left || top;
    for (const card of this.graph.inside.row(box)) {
      if (this.boxes.hides(card)) continue;
      if (moved) { this.x[card] += left; this.y[card] += top; }
      if (!this.isOpen(card)) this.cards.push(card);
    }
    const alone = this.boxes.alone(box), { source, target } = this.graph.links;
    for (const link of this.graph.linksIn.row(box)) {
      if (alone < 0 || source[link] === alone || target[link] === alone) this.links.push(link);
    }
  }
  // Where a link comes from and leads to: a card, or the edge of its box, also for what a repeat hides.
  sourceOf(link) { return this.endOf(this.graph.links.source[link], ENTRY); }
  targetOf(link) { return this.endOf(this.graph.links.target[link], EXIT); }
  endOf(card, edge) {
    if (this.standing) return this.standing.get(card);
    return card >= 0 && this.boxes.hides(card) ? edge : card;
  }
  // The card that stands for another now: itself, or the outermost box around it that is closed or shows another block.
  visible(card) {
    const { graph, boxes } = this;
    let seen = card;
    for (let inner = card, box = graph.around(card); box > 0; inner = graph.boxCard(box), box = graph.boxes.parent[box]) {
      if (!boxes.open[box] || boxes.hides(inner)) seen = graph.boxCard(box);
    }
    return seen;
  }
  cardAt(x, y) {
    const inside = (card) => x >= this.x[card] && x <= this.x[card] + this.width[card] &&
      y >= this.y[card] && y <= this.y[card] + this.height[card];
    const found = this.grid.cardsIn(x, y, x, y).find(inside);
    if (found !== undefined) return found;
    const box = this.openBoxes.findLast((each) => inside(this.graph.boxCard(each)));
    return box === undefined ? -1 : this.graph.boxCard(box);
  }
}

const FEW = 8;  // cards in a cell of the grid

class Grid {
  constructor(scene) {
    this.scene = scene;
    const { width, height } = scene.sheet;
    this.cell = Math.max(300, Math.sqrt((width * height * FEW) / Math.max(scene.cards.length, 1)));
    this.columns = Math.max(1, Math.ceil(width / this.cell));
    this.rows = Math.max(1, Math.ceil(height / this.cell));
    const cells = this.columns * this.rows, { x, y, width: wide, height: high } = scene;
    this.cards = rowsBy(cells, scene.cards.length, (at) => {
      const card = scene.cards[at];
      return this.cellOf(x[card] + wide[card] / 2, y[card] + high[card] / 2);
    });
    this.boundLinks();
    this.links = rowsBy(cells, scene.links.length, (at) => (this.isLong(at) ? -1 : this.cellOf(this.spans[4 * at], this.spans[4 * at + 1])));
    this.long = [];
    for (let at = 0; at < scene.links.length; at++) if (this.isLong(at)) this.long.push(at);
  }
  cellOf(x, y) {
    const column = Math.min(Math.max(Math.floor(x / this.cell), 0), this.columns - 1);
    return Math.min(Math.max(Math.floor(y / this.cell), 0), this.rows - 1) * this.columns + column;
  }
  // Left, top, right, bottom of every link.
  boundLinks() {
    const { scene } = this, spans = (this.spans = new Float32Array(4 * scene.links.length));
    for (let at = 0; at < scene.links.length; at++) {
      const link = scene.links[at];
      const points = winds(scene, link) ? linkPoints(scene, link) : linkEnds(scene, link);
      let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
      for (let point = 0; point < points.length; point += 2) {
        if (points[point] < left) left = points[point];
        if (points[point] > right) right = points[point];
        if (points[point + 1] < top) top = points[point + 1];
        if (points[point + 1] > bottom) bottom = points[point + 1];
      }
      spans.set([left, top, right, bottom], 4 * at);
    }
  }
  isLong(at) {
    const { spans } = this;
    return spans[4 * at + 2] - spans[4 * at] > this.cell || spans[4 * at + 3] - spans[4 * at + 1] > this.cell;
  }
  // Cells that may hold something of a rectangle: one more on every side, since things reach out of their cell.
  *cells(left, top, right, bottom) {
    const edge = this.cell;
    const first = Math.max(Math.floor((left - edge) / edge), 0), last = Math.min(Math.floor((right + edge) / edge), this.columns - 1);
    const upper = Math.max(Math.floor((top - edge) / edge), 0), lower = Math.min(Math.floor((bottom + edge) / edge), this.rows - 1);
    for (let row = upper; row <= lower; row++) for (let column = first; column <= last; column++) yield row * this.columns + column;
  }
  cardsIn(left, top, right, bottom) {
    const { cards, x, y, width, height } = this.scene, found = [];
    for (const cell of this.cells(left, top, right, bottom)) {
      for (const at of this.cards.row(cell)) {
        const card = cards[at];
        if (x[card] <= right && x[card] + width[card] >= left && y[card] <= bottom && y[card] + height[card] >= top) found.push(card);
      }
    }
    return found;
  }
  linksIn(left, top, right, bottom) {
    const { spans, scene } = this, found = [];
    const meets = (at) => spans[4 * at] <= right && spans[4 * at + 2] >= left && spans[4 * at + 1] <= bottom && spans[4 * at + 3] >= top;
    for (const cell of this.cells(left, top, right, bottom)) {
      for (const at of this.links.row(cell)) if (meets(at)) found.push(scene.links[at]);
    }
    for (const at of this.long) if (meets(at)) found.push(scene.links[at]);
    return found;
  }
  // About how many cards a rectangle holds.
  countIn(left, top, right, bottom) {
    const { width, height } = this.scene.sheet;
    const wide = Math.max(Math.min(right, width) - Math.max(left, 0), 0), high = Math.max(Math.min(bottom, height) - Math.max(top, 0), 0);
    return (this.scene.cards.length * wide * high) / Math.max(width * height, 1);
  }
}
