// ---- print: the whole drawing as it is open now, in light colours, cut into pages when it is long, or long and wide.

// Sizes of a sheet of paper, with head and legend on the first; a drawing that fits one, if smaller, is not cut.
const PAGE = { width: 1000, height: 1300, first: 1140, most: 12 }, READABLE = 0.55;

function printPages() {
  const { width, height } = state.scene.sheet, pages = [legendCopy()];
  const wide = Math.min(PAGE.width / width, 1.2), whole = Math.min(wide, PAGE.first / height);
  const many = Math.ceil((height * wide) / PAGE.height) > PAGE.most;
  if (wide < READABLE) return [...pages, printPage(whole, [0, 0, width, height]), ...printParts(width, height)];
  const scale = many || whole >= READABLE ? whole : wide;
  for (let top = 0, step = PAGE.first / scale; top < height; top += step, step = PAGE.height / scale) {
    pages.push(printPage(scale, [0, top, width, Math.min(step, height - top)]));
  }
  return pages;
}

// What is too wide to be read on one sheet follows it in parts that can be, row by row, if those are not too many.
function printParts(width, height) {
  const across = Math.ceil((width * READABLE) / PAGE.width), down = Math.ceil((height * READABLE) / PAGE.height);
  const wide = width / across, high = height / down, parts = [];
  for (let row = 0; across * down <= PAGE.most && row < down; row += 1) {
    for (let column = 0; column < across; column += 1) {
      const part = document.createElement("figure"), caption = document.createElement("figcaption");
      caption.textContent = `row ${row + 1} of ${down}, column ${column + 1} of ${across}`;
      part.append(caption, printPage(Math.min(PAGE.width / wide, PAGE.height / high), [column * wide, row * high, wide, high]));
      parts.push(part);
    }
  }
  return parts;
}

function legendCopy() {
  const copy = byId("legend").cloneNode(true);
  copy.removeAttribute("id");
  return copy;
}

function printPage(scale, [left, top, wide, high]) {
  const picture = document.createElement("canvas"), sharp = 2;
  picture.width = Math.max(1, Math.round(wide * scale * sharp));
  picture.height = Math.max(1, Math.round(high * scale * sharp));
  picture.style.width = `${(wide * scale / PAGE.width) * 100}%`;
  const context = picture.getContext("2d", { alpha: false });
  context.fillStyle = looks.colours.paper;
  context.fillRect(0, 0, picture.width, picture.height);
  context.setTransform(scale * sharp, 0, 0, scale * sharp, -left * scale * sharp, -top * scale * sharp);
  paintScene(context, scale, [left, top, left + wide, top + high]);
  return picture;
}

function watchPrint() {
  const html = document.documentElement;
  let theme = "auto";
  addEventListener("beforeprint", () => {
    theme = html.dataset.theme;
    html.dataset.theme = "light";
    refreshLooks();
    byId("print").replaceChildren(...printPages());
  });
  addEventListener("afterprint", () => {
    html.dataset.theme = theme;
    byId("print").replaceChildren();
    refreshLooks();
    schedule();
  });
}
