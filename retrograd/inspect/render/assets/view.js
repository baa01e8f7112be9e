// ---- view: which part of the sheet is on the screen. Screen = sheet * scale + (x, y).

const stage = byId("stage"), canvas = byId("canvas"), outside = byId("outside");
const view = { x: 0, y: 0, scale: 1, moved: false };  // moved: by the reader, so that it stays when the window changes
const NEAREST = 4, PAD = 24;
const TOLD_FROM = 0.38;  // scale from which a drawing as a whole tells enough: titles are written from there on (TEXT_FROM), and larger
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

const fitScale = () => {
  const { width, height } = state.scene.sheet;
  return Math.min((stage.clientWidth - PAD) / Math.max(width, 1), (stage.clientHeight - PAD) / Math.max(height, 1));
};

function centre(scale) {
  const { width, height } = state.scene.sheet;
  Object.assign(view, { scale, x: (stage.clientWidth - width * scale) / 2, y: (stage.clientHeight - height * scale) / 2 });
  schedule();
}

const fit = () => centre(clamp(fitScale(), 1e-5, 1.25));

// A drawing opens as a whole if it can be read then, else at its root.
function openingView() {
  const whole = fitScale();
  view.moved = false;
  if (whole >= TOLD_FROM || state.scene.cards.length > 3000) { fit(); return; }
  const { width, height } = state.scene.sheet;
  const scale = clamp((stage.clientWidth - PAD) / width, 0.55, 1);
  centre(scale);
  if (height * scale > stage.clientHeight) view.y = 8;
  const root = state.graph.roots.length && !state.graph.turned ? state.scene.visible(state.graph.cardOf(state.graph.roots[0][0])) : -1;
  if (width * scale <= stage.clientWidth) return;
  if (root < 0) { view.x = 0; return; }  // values come in at the left of the first column
  const middle = stage.clientWidth / 2 - (state.scene.x[root] + state.scene.width[root] / 2) * scale;
  view.x = clamp(middle, stage.clientWidth - width * scale, 0);  // nothing empty beside the sheet
}

function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  const scale = clamp(view.scale * factor, Math.min(fitScale() / 2, 0.05), NEAREST);
  view.moved = true;
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  schedule();
}

function move(dx, dy) {
  view.moved = true;
  view.x += dx;
  view.y += dy;
  schedule();
}

// The rectangle of the sheet on the screen: left, top, right, bottom.
function shown() {
  const { x, y, scale } = view;
  return [-x / scale, -y / scale, (stage.clientWidth - x) / scale, (stage.clientHeight - y) / scale];
}

function toSheet(event) {
  const frame = stage.getBoundingClientRect();
  return [(event.clientX - frame.left - view.x) / view.scale, (event.clientY - frame.top - view.y) / view.scale];
}

function toScreen(card) {
  const { x, y, width, height } = state.scene;
  return [(x[card] + width[card] / 2) * view.scale + view.x, (y[card] + Math.min(height[card], 46) / 2) * view.scale + view.y];
}

// Bring a card onto the screen, large enough to be read.
function reveal(card) {
  if (view.scale < 0.5) view.scale = 0.8;
  const [x, y] = toScreen(card), inside = x > 60 && y > 40 && x < stage.clientWidth - 60 && y < stage.clientHeight - 40;
  if (!inside) move(stage.clientWidth / 2 - x, stage.clientHeight / 2 - y);
  schedule();
}

let scheduled = false;
function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => { scheduled = false; paint(); });
}

function sizeCanvas() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(stage.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(stage.clientHeight * ratio));
  if (state.scene && !view.moved) openingView();
  if (state.scene) paint();
}
