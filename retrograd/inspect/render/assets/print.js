// ---- print: the whole drawing as it is open now, in light colours, cut into pages when it is long.

const PAGE = { width: 1000, height: 1350, most: 12 };

function printPages() {
  const { scene } = state, { width, height } = scene.sheet, pages = [];
  const scale = Math.min(PAGE.width / width, 1.2), long = Math.ceil((height * scale) / PAGE.height);
  const whole = long > PAGE.most;
  const used = whole ? Math.min(PAGE.width / width, PAGE.height / height) : scale, step = PAGE.height / used;
  for (let top = 0; top < height; top += step) pages.push(printPage(used, top, Math.min(step, height - top)));
  return pages;
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
