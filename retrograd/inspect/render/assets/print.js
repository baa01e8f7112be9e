// ---- print: the whole drawing as it is open now, in light colours, cut into pages when it is long.

// Sizes of a sheet of paper, with head and legend on the first; a drawing that fits one, if smaller, is not cut.
const PAGE = { width: 1000, height: 1300, first: 1140, most: 12 }, READABLE = 0.55;

function printPages() {
  const { width, height } = state.scene.sheet, pages = [legendCopy()];
  const wide = Math.min(PAGE.width / width, 1.2), whole = Math.min(wide, PAGE.first / height);
  const many = Math.ceil((height * wide) / PAGE.height) > PAGE.most, scale = many || whole >= READABLE ? whole : wide;
  for (let top = 0, step = PAGE.first / scale; top < height; top += step, step = PAGE.height / scale) {
    pages.push(printPage(scale, top, Math.min(step, height - top)));
  }
  return pages;
}

function legendCopy() {
  const copy = byId("legend").cloneNode(true);
  copy.removeAttribute("id");
  return copy;
}

function printPage(scale, top, high) {
  const picture = document.createElement("canvas"), sharp = 2, { scene } = state;
  picture.width = Math.max(1, Math.round(scene.sheet.width * scale * sharp));
  picture.height = Math.max(1, Math.round(high * scale * sharp));
  picture.style.width = `${(scene.sheet.width * scale / PAGE.width) * 100}%`;
  const context = picture.getContext("2d", { alpha: false });
  context.fillStyle = looks.colours.paper;
  context.fillRect(0, 0, picture.width, picture.height);
  context.setTransform(scale * sharp, 0, 0, scale * sharp, 0, -top * scale * sharp);
  paintScene(context, scale, [0, top, scene.sheet.width, top + high]);
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
