// ---- state: what is shown now. Changes go through the functions of the files below, which then call `changed`.

const state = {
  data: null,
  graphs: [],
  step: 0,
  view: "both",      // which way lines go: "backward", "forward" or "both"
  graph: null,
  open: null,        // per box: 1 while it is open
  block: null,       // per box: which of its equal blocks is shown alone; -1 for all
  scene: null,       // places of everything that is visible
  chosen: -1,        // thing
  lit: null,         // per card: 1 when search, filter or path let it stand out; null when nothing is asked
  way: null,         // nodes from the loss to a chosen one
  finding: null,     // number of the finding that was shown last
  notes: new Map(),  // atom -> what findings say on its card: severity and lines of each
  hover: [],         // lines under the pointer
  matches: [],
  matchAt: -1,
  measure: "",
};

const listeners = {};
const when = (what, act) => (listeners[what] ??= []).push(act);
const changed = (what) => (listeners[what] || []).forEach((act) => act());

// The view that is drawn: a graph whose forward was not recorded is drawn as gradients go, one without gradients as values do.
function viewNow() {
  const { forward, valuesOnly } = state.data.structures[state.data.steps[state.step].structure];
  return valuesOnly ? "forward" : forward ? state.view : "backward";
}

const measures = () => state.data.steps[state.step].measures;

// A line of the program as people are told of it: a cell of a notebook as the notebook numbers it, a file by its path or last part.
function placeText(file, line, short = false) {
  if (Object.hasOwn(state.data.cells, file)) return `${state.data.cells[file]}, line ${line}`;
  return `${clean(short ? file.split(/[/\\]/).at(-1) : file)}:${line}`;
}

// A measured value: undefined when it was not measured.
function measured(name, node) {
  const column = measures()[name];
  if (!column) return undefined;
  const kind = column.states ? column.states[node] : 0;
  return kind === 0 ? column.values[node] : [0, undefined, NaN, Infinity, -Infinity][kind];
}
