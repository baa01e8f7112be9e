// ---- memory: what is kept for backward over time: it grows in forward and falls in backward; the peak is marked.

const CHART = { width: 298, height: 74 };

function shape(tag, attributes) {
  const element = document.createElementNS(byId("svg").content.firstChild.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// A heading, the chart, and who holds most at the peak; nothing where it is not known.
function memoryParts() {
  const { memory } = state.data.steps[state.step];
  if (!memory) return [];
  const peak = button(`n${memory.node}`, () => choose(memory.node, true)), words = make("p", "", `peak ${bytesText(memory.most)} after `, peak);
  if (memory.retained) words.append(" · kept: nothing is let go");
  const holders = [["by module", memory.modules], ["by line", memory.lines]];
  return [make("h3", "Saved tensors over time"), memoryChart(memory), words, ...holders.flatMap(([head, rows]) => [quiet(`At the peak, ${head}`), facts(rows.map(([what, held]) => [what, bytesText(held)]))])];
}

function memoryChart({ forward, backward, most }) {
  const { width, height } = CHART, values = [0, ...forward, ...backward], chart = shape("svg", { width, height, class: "memory", role: "img" });
  const x = (at) => (at / (values.length - 1)) * width, y = (value) => height - 14 - (value / most) * (height - 22);
  const steps = values.slice(1).map((value, at) => `H${x(at + 1).toFixed(1)}V${y(value).toFixed(1)}`).join("");
  const turn = x(forward.length), top = values.indexOf(Math.max(...values));
  chart.append(
    shape("path", { class: "area", d: `M0 ${y(0)}${steps}V${y(0)}Z` }), shape("line", { x1: turn, x2: turn, y1: 0, y2: height - 12 }),
    shape("circle", { cx: x(top), cy: y(values[top]), r: 3.5 }), label("forward", 0, "start"),
  );
  if (backward.length) chart.append(label("backward", width, "end"));
  chart.setAttribute("aria-label", `Saved tensors: up to ${bytesText(most)} when forward ends`);
  return chart;
}

function label(words, x, anchor) {
  const element = shape("text", { x, y: CHART.height - 2, "text-anchor": anchor });
  element.textContent = words;
  return element;
}
