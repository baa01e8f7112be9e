// ---- overview: a picture of the whole sheet, made once in small portions, shown while too many cards are in sight.

const LARGEST = 4096;  // pixels on its longer side
const PORTION = 14;    // milliseconds of work before the page may answer again
const overview = { canvas: null, scale: 1, jobs: [], key: "" };

const overviewKey = () => [state.step, state.graph.turned, state.scene.openBoxes.map((box) => `${box} ${state.block[box]}`).join(), state.measure, looks.colours.paper, state.litVersion].join("|");

function paintAhead(context, [left, top, right, bottom]) {
  if (overview.key !== overviewKey()) beginOverview();
  const { canvas: picture, scale } = overview;
  context.imageSmoothingQuality = "low";
  const x = Math.max(left, 0), y = Math.max(top, 0);
  const wide = Math.min(right, picture.width / scale) - x, high = Math.min(bottom, picture.height / scale) - y;
  if (wide > 0 && high > 0) context.drawImage(picture, x * scale, y * scale, wide * scale, high * scale, x, y, wide, high);
}

function beginOverview() {
  const { scene } = state, { width, height } = scene.sheet;
  overview.key = overviewKey();
  overview.scale = Math.min(LARGEST / Math.max(width, height, 1), 1);
  overview.canvas = document.createElement("canvas");
  overview.canvas.width = Math.max(1, Math.ceil(width * overview.scale));
  overview.canvas.height = Math.max(1, Math.ceil(height * overview.scale));
  const context = overview.canvas.getContext("2d", { alpha: false });
  context.fillStyle = looks.colours.paper;
  context.fillRect(0, 0, overview.canvas.width, overview.canvas.height);
  context.scale(overview.scale, overview.scale);
  overview.jobs = overviewJobs(context);
  workOn(overview.key);
}

function overviewJobs(context) {
  const { scene, lit } = state, { scale } = overview, jobs = [], size = 2000;
  jobs.push(() => paintOpenBoxes(context, scale, [0, 0, scene.sheet.width, scene.sheet.height]));
  for (let from = 0; from < scene.links.length; from += size) {
    jobs.push(() => paintFarLinks(context, scene.links.subarray(from, from + size), lit ? DIM / 2 : 0.5));
  }
  for (let from = 0; from < scene.cards.length; from += 2 * size) {
    jobs.push(() => {
      const part = [...scene.cards.subarray(from, from + 2 * size)];
      context.globalAlpha = lit ? DIM : 1;
      paintBlocks(context, lit ? part.filter((card) => !lit[card]) : part, scale);
      context.globalAlpha = 1;
      if (lit) paintBlocks(context, part.filter((card) => lit[card]), scale);
    });
  }
  return jobs.reverse();
}

function paintFarLinks(context, links, alpha) {
  const { scene } = state;
  context.globalAlpha = alpha;
  context.strokeStyle = looks.colours.line;
  context.lineWidth = 0.7 / overview.scale;
  context.beginPath();
  for (const link of links) {
    const [x0, y0, x1, y1] = linkEnds(scene, link);
    // A line shorter than a pixel would not be seen.
    if (Math.abs(x1 - x0) + Math.abs(y1 - y0) < 0.7 / overview.scale) continue;
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  }
  context.stroke();
  context.globalAlpha = 1;
}

function workOn(key) {
  if (overview.key !== key) return;
  const end = performance.now() + PORTION;
  while (overview.jobs.length && performance.now() < end) overview.jobs.pop()();
  schedule();
  if (overview.jobs.length) setTimeout(() => workOn(key));
}
