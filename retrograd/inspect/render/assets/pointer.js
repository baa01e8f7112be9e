// ---- pointer: one moves, two pinch, a press without a move chooses, a double one opens or closes a box.

const pointers = new Map();
let travelled = 0;

function pointerMoved(event) {
  const last = pointers.get(event.pointerId);
  if (!last) { hoverAt(event); return; }
  const dx = event.clientX - last.x, dy = event.clientY - last.y;
  travelled += Math.abs(dx) + Math.abs(dy);
  if (travelled < 4) return;
  stage.setPointerCapture(event.pointerId);
  stage.classList.add("moving");
  if (pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1], frame = stage.getBoundingClientRect();
    const before = Math.hypot(last.x - other.x, last.y - other.y), after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    if (before > 0) zoom(after / before, other.x - frame.left, other.y - frame.top);
  } else move(dx, dy);
  last.x = event.clientX;
  last.y = event.clientY;
}

function pointerReleased(event) {
  pointers.delete(event.pointerId);
  if (!pointers.size) stage.classList.remove("moving");
}

function wheelTurned(event) {
  event.preventDefault();
  const frame = stage.getBoundingClientRect(), unit = [1, 16, 400][event.deltaMode];
  const turn = clamp(event.deltaY * unit, -240, 240);
  zoom(Math.exp(-turn * (event.ctrlKey ? 0.01 : 0.0018)), event.clientX - frame.left, event.clientY - frame.top);
}

// The parameter or the card at a point of the sheet.
function thingAt(x, y) {
  const { scene, graph } = state, card = scene.cardAt(x, y);
  if (card < 0) return -1;
  const row = graph.isBox(card) ? undefined : rowsOf(card).find((_, index) => {
    const top = rowTop(card, scene.y[card], index);
    return y >= top && y < top + ROW;
  });
  return row && row[1] >= 0 ? row[1] : graph.thingOf(card);
}

function watchPointer() {
  stage.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    travelled = 0;
  });
  stage.addEventListener("pointermove", pointerMoved);
  stage.addEventListener("pointerleave", () => { state.hover = []; schedule(); });
  stage.addEventListener("pointerup", pointerReleased);
  stage.addEventListener("pointercancel", pointerReleased);
  stage.addEventListener("click", (event) => { if (travelled < 4 && !pressPager(...toSheet(event))) choose(thingAt(...toSheet(event))); });
  stage.addEventListener("dblclick", (event) => {
    const [x, y] = toSheet(event), card = state.scene.cardAt(x, y), header = card >= 0 && y < state.scene.y[card] + HEADER;
    if (header && state.scene.isOpen(card) && x > state.scene.x[card] + state.scene.width[card] - PAGER && pagerOf(state.graph.boxOf(card)).length) return;
    if (card >= 0 && state.graph.isBox(card)) toggle(card);
  });
  stage.addEventListener("wheel", wheelTurned, { passive: false });
}
