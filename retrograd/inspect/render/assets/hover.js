// ---- hover: lines under the pointer, and those of the card under it, coloured by where they come from.

const SOURCE_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];  // told apart by most eyes
const REACH = 5;  // how near to a line the pointer must be, in pixels of the screen

function hoverAt(event) {
  const [x, y] = toSheet(event), { scene } = state, card = scene.cardAt(x, y);
  const found = card >= 0 && !scene.isOpen(card) ? linksAt(card) : linesNear(x, y);
  if (found.length === state.hover.length && found.every((link, at) => link === state.hover[at])) return;
  state.hover = found;
  stage.dataset.hover = found.length;
  schedule();
}

// All lines with the source of the one that runs by a point.
function linesNear(x, y) {
  const { scene } = state, reach = REACH / view.scale, near = scene.grid.linksIn(x - reach, y - reach, x + reach, y + reach);
  if (near.length > 100) return [];
  const hit = near.find((link) => passes(linkPoints(scene, link), x, y, reach)), source = hit === undefined ? -1 : scene.sourceOf(hit);
  if (hit === undefined) return [];
  return source < 0 ? [hit] : linksAt(source).filter((link) => scene.sourceOf(link) === source);
}

// Whether a line comes so near to a point; its pieces are taken as chains of short straight ones.
function passes(points, x, y, reach) {
  let [x0, y0] = points;
  for (let at = 0; at + 7 < points.length; at += 6) {
    for (let step = 1; step <= 16; step++) {
      const [x1, y1] = [0, 1].map((axis) => bezierAt(points, at + axis, step / 16));
      if (distance(x, y, x0, y0, x1, y1) <= reach) return true;
      [x0, y0] = [x1, y1];
    }
  }
  return false;
}

function bezierAt(points, at, share) {
  const rest = 1 - share;
  return rest ** 3 * points[at] + 3 * rest * rest * share * points[at + 2] + 3 * rest * share * share * points[at + 4] + share ** 3 * points[at + 6];
}

function distance(x, y, x0, y0, x1, y1) {
  const wide = x1 - x0, high = y1 - y0, length = wide * wide + high * high;
  const share = length ? clamp(((x - x0) * wide + (y - y0) * high) / length, 0, 1) : 0;
  return Math.hypot(x - x0 - share * wide, y - y0 - share * high);
}

function paintHover(context, scale) {
  const { scene, hover } = state, colours = new Map();
  context.lineWidth = Math.max(2.6, 2 / scale);
  for (const link of hover) {
    const source = scene.sourceOf(link);
    if (!colours.has(source)) colours.set(source, SOURCE_COLOURS[colours.size % SOURCE_COLOURS.length]);
    context.strokeStyle = colours.get(source);
    context.setLineDash(isCut(link) ? [5, 4] : []);
    context.beginPath();
    traceCurve(context, linkPoints(scene, link));
    context.stroke();
  }
  context.setLineDash([]);
}
