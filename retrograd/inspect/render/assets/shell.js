// ---- shell: what every page has around its drawing: the list of its keys, and the theme. A page has its own KEYS and
// themeChanged.

const byId = (id) => document.getElementById(id);

function showHelp() {
  const table = make("dl");
  for (const [keys, words] of KEYS) table.append(make("dt", "", ...keys.split(" ").map((key) => make("kbd", key))), make("dd", words));
  const close = make("button", "Close");
  close.addEventListener("click", () => byId("help").close());
  byId("help").replaceChildren(make("h2", "Keys"), table, close);
  byId("help").showModal();
}

function nextTheme() {
  const html = document.documentElement, themes = ["auto", "light", "dark"];
  html.dataset.theme = themes[(themes.indexOf(html.dataset.theme) + 1) % themes.length];
  showTheme();
}

function showTheme() {
  byId("theme").textContent = `Theme: ${document.documentElement.dataset.theme}`;
  themeChanged();
}

// Does what the page has for a key.
function actOn(event) {
  const row = KEYS.find(([, , acts]) => Object.hasOwn(acts, event.key));
  if (!row) return;
  event.preventDefault();
  row[2][event.key]();
}
