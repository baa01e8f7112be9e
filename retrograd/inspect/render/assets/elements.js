// ---- elements: what outline and details are built of. Every text enters the page through textContent, never as markup.

function make(tag, text, ...children) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
}

function button(text, act, title = "") {
  const element = make("button", text);
  element.type = "button";
  element.className = "link";
  if (title) element.title = title;
  element.addEventListener("click", act);
  return element;
}

function section(heading, ...children) {
  const summary = make("summary", heading), details = make("details", "", summary, ...children);
  details.open = true;
  return details;
}
