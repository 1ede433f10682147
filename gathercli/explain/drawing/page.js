// Light the cells of a drawing that belong together, say why, and answer the call when it is changed.
//
// A host element holds the drawing (an <svg>, or an <img> of one in a notebook, which stays if the
// notebook runs no scripts), a <template> of the styles, and the content that page.py makes.

const KEYS = {
  next: [" ", "n", "PageDown"],
  back: ["b", "p", "Backspace", "PageUp"],
  first: ["g", "Home"],
  last: ["G", "$", "End"],
  right: ["ArrowRight", "l"],
  left: ["ArrowLeft", "h"],
  down: ["ArrowDown", "j"],
  up: ["ArrowUp", "k"],
  clear: ["q", "Escape"],
  edit: ["Enter", "F2"],
};
const MEANINGS = new Map(Object.entries(KEYS).flatMap(([word, keys]) => keys.map((key) => [key, word])));
const WAYS = { right: [1, 0], left: [-1, 0], down: [0, 1], up: [0, -1] };
const OUT = "out";
const MOST_FIELD_COLUMNS = 60; // of the text of a tensor
const OTHERS = 5; // equations of further cells of the output
const HELP = {
  true: "Click an index or a value, then type, or click again, to change it. Arrow keys move, Escape clears.",
  false: "Point at a cell. Arrow keys move, Escape clears. This call is too large to be changed here.",
};

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function button(words, act) {
  const node = element("button", { type: "button" }, words);
  node.addEventListener("click", act);
  return node;
}

/** Return the drawing of a host as an <svg> element for a shadow root, which has ids of its own. */
function drawingOf(host) {
  const svg = host.querySelector("svg") ?? imaged(host);
  svg.remove();
  for (const each of svg.querySelectorAll("[data-id]")) each.id = each.dataset.id;
  return svg;
}

/** Return the drawing that the image of a host shows. */
function imaged(host) {
  const encoded = host.querySelector("img").src.split(",")[1];
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  const source = new TextDecoder().decode(bytes);
  const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
  return document.importNode(parsed.documentElement, true);
}

/** Return which words a drawing has: those of a first lesson, which are brief, have the ID of the version alone. */
function formOf(svg, { version }) {
  const isBare = !svg.querySelector(".heading");
  return { isBare, isBrief: ![...svg.querySelectorAll(".note")].some((each) => each.textContent === version) };
}

/** Return the theme of a document, as its ground is light or dark. */
function themeOf(host) {
  for (let at = host.parentElement; at; at = at.parentElement) {
    const [red, green, blue, opacity = 1] = getComputedStyle(at).backgroundColor.match(/[\d.]+/g).map(Number);
    if (opacity > 0.5) return 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? "dark" : "light";
  }
  return "light";
}

/** The cells and arrows of a drawing: which are lit, and which of them the keys reach. */
class Drawing {
  constructor(svg, isEditable) {
    this.svg = svg;
    this.cells = new Map();
    this.tensors = new Map();
    const width = Number(svg.getAttribute("width"));
    svg.style.setProperty("--width", `${width}px`);
    svg.style.setProperty("--ratio", width / Number(svg.getAttribute("height")));
    for (const cell of svg.querySelectorAll(".cell")) {
      this.cells.set(cell.id, cell);
      const [tensor, ...at] = cell.id.split("-");
      Object.assign(cell.dataset, { tensor, at: at.join(",") });
      if (!this.tensors.has(tensor)) this.tensors.set(tensor, []);
      this.tensors.get(tensor).push(cell);
    }
    for (const each of svg.querySelectorAll(".traced, .faint")) {
      each.classList.remove("traced", "faint"); // what is lit says it
    }
    this.connect();
    this.describe(isEditable);
  }

  /** Find what is lit along with cells: each element with the cells at its ends. */
  connect() {
    const { svg } = this;
    this.slices = new Map([...svg.querySelectorAll(".slice")].map((each) => [each.id, each]));
    this.links = [
      ...[...this.slices].map(([id, slice]) => [slice, [this.members(id)]]),
      ...[...svg.querySelectorAll(".arrow")].map((arrow) => [
        arrow,
        [arrow.dataset.from, arrow.dataset.to].map((id) => this.members(id)),
      ]),
    ];
  }

  /** Return the ids of the cells in a cell or a slice; null for the place beside a tensor. */
  members(id) {
    if (this.cells.has(id)) return [id];
    const end = this.slices.get(id);
    if (!end || end.classList.contains("outside")) return null;
    if (end.dataset.cells) return end.dataset.cells.split(" ");
    const wanted = end.dataset.at.split(",");
    return (this.tensors.get(end.dataset.tensor) ?? [])
      .filter((cell) => {
        const at = cell.dataset.at.split(",");
        return wanted.every((word, d) => word === ":" || word === at[d]);
      })
      .map((cell) => cell.id);
  }

  /** Give the drawing and its cells roles and names, and let keys reach them. */
  describe(isEditable) {
    const { svg } = this;
    svg.setAttribute("role", "group");
    const title = svg.querySelector("title");
    if (title) svg.setAttribute("aria-label", title.textContent);
    title?.remove(); // a browser would show it wherever one points
    svg.querySelector("desc")?.remove();
    for (const [tensor, cells] of this.tensors) {
      cells.forEach((cell, n) => {
        // Cells of a row that follow each other; a tensor may have several grids, its facets.
        const row = cell.dataset.at.split(",").slice(0, -1).join(",");
        const before = cell.previousElementSibling;
        let group = before?.dataset.row === row && before.dataset.of === tensor ? before : null;
        if (!group) {
          group = drawn("g", { role: "row", "data-row": row, "data-of": tensor });
          const grid = before?.getAttribute("role") === "grid" && before.dataset.of === tensor ? before : null;
          const into = grid ?? drawn("g", { role: "grid", "aria-label": tensor, "data-of": tensor });
          if (!grid) cell.before(into);
          const last = into.lastElementChild;
          if (last?.dataset.row === row) group = last;
          else into.append(group);
        }
        group.append(cell);
        const value = cell.querySelector("text:not(.letter)");
        cell.setAttribute("role", "gridcell");
        cell.setAttribute("aria-selected", "false");
        cell.setAttribute("aria-readonly", String(!isEditable || tensor === OUT));
        cell.setAttribute("aria-label", `${nameOf(cell)}: ${value?.textContent ?? ""}`);
        cell.setAttribute("tabindex", n ? "-1" : "0");
      });
    }
  }

  /** Light cells by id, and the arrows between them; `here` is the one that was chosen. */
  light(roles, here) {
    for (const [id, cell] of this.cells) {
      const role = roles.get(id);
      if (role) cell.dataset.lit = role;
      else delete cell.dataset.lit;
      cell.setAttribute("aria-selected", String(Boolean(role)));
      cell.toggleAttribute("data-here", cell === here);
    }
    // the path of a beam runs through the tokens of the parents that are lit
    const isLit = (ids) => ids === null || ids.some((id) => roles.has(id) || roles.has(id.replace("step_ids", "parent_ids")));
    for (const [link, ends] of this.links) {
      link.toggleAttribute("data-lit", ends.some((ids) => ids) && ends.every(isLit));
    }
    this.svg.toggleAttribute("data-lighted", roles.size > 0);
  }

  /** Mark the cells of a tensor at a position on an axis. */
  mark(tensor, axis, position) {
    for (const cell of this.cells.values()) {
      const on = cell.dataset.tensor === tensor && cell.dataset.at.split(",")[axis] === position;
      cell.toggleAttribute("data-marked", on);
    }
  }

  /** Make the coordinates of a cell on some axes bold, beside it or above it. */
  embolden(cell, axes = []) {
    const labels = [...this.svg.querySelectorAll(".coordinate")];
    for (const each of labels) each.classList.remove("replaced");
    if (!cell) return;
    const numberOf = (node, key) => Number(node.getAttribute(key));
    const boxOf = (each) => Object.fromEntries(["x", "y", "width", "height"].map((key) => [key, numberOf(each.querySelector("rect"), key)]));
    const box = boxOf(cell);
    const at = cell.dataset.at.split(",").map(Number);
    for (const axis of axes.filter((d) => d >= at.length - 2)) {
      const near = [1, -1].map((by) => this.cells.get(idOf(cell.dataset.tensor, at.with(axis, at[axis] + by)))).find(Boolean);
      const isColumn = near ? boxOf(near).y === box.y : axis === at.length - 1 && at.length > 1;
      const [along, across, anchor] = isColumn ? ["y", "x", "middle"] : ["x", "y", "end"];
      const size = isColumn ? box.width : box.height;
      const own = labels.filter((each) => {
        const n = numberOf(each, across);
        return each.getAttribute("text-anchor") === anchor && n > box[across] && n < box[across] + size && numberOf(each, along) <= box[along];
      });
      const nearest = Math.max(...own.map((each) => numberOf(each, along)));
      for (const each of own) each.classList.toggle("replaced", numberOf(each, along) > nearest - 40);
    }
  }

  /** Return the nearest cell of the same tensor in a direction, or the cell itself. */
  beside(cell, [dx, dy]) {
    const boxOf = (each) => {
      const rect = each.querySelector("rect");
      const [x, y, width, height] = ["x", "y", "width", "height"].map((key) => Number(rect.getAttribute(key)));
      return { x: x + width / 2, y: y + height / 2, width, height };
    };
    const own = boxOf(cell);
    let [best, least] = [cell, Infinity];
    for (const each of this.tensors.get(cell.dataset.tensor)) {
      const box = boxOf(each);
      const [along, across] = dx ? [(box.x - own.x) * dx, Math.abs(box.y - own.y)] : [(box.y - own.y) * dy, Math.abs(box.x - own.x)];
      if (along > 1 && across < (dx ? own.height : own.width) / 2 && along < least) [best, least] = [each, along];
    }
    return best;
  }

  /** Make a cell the one of its tensor that Tab reaches. */
  reach(cell) {
    for (const each of this.tensors.get(cell.dataset.tensor)) each.setAttribute("tabindex", "-1");
    cell.setAttribute("tabindex", "0");
  }
}

function nameOf(cell) {
  const { tensor, at } = cell.dataset;
  return at ? `${tensor}[${at}]` : tensor;
}

/** What the cells of the output come from: records of ids, with the lines of their traces. */
class Traces {
  constructor(records, total) {
    this.total = total;
    this.byOut = new Map(records.map((record) => [record.out, record]));
    this.order = [...this.byOut.keys()];
    this.byCell = new Map();
    for (const record of records) {
      for (const id of this.roles(record).keys()) {
        if (!this.byCell.has(id)) this.byCell.set(id, []);
        this.byCell.get(id).push(record);
      }
    }
  }

  /** Return those that the content of a page has as text. */
  static written({ cells, total: count }) {
    const records = cells.map(([out, index, source, lines]) => ({ out, index, source, lines: () => lines.split("\n") }));
    return new Traces(records, count);
  }

  /** Return those of an answer. */
  static answered(model, answered) {
    const { row, shape, D, indexShape, cells = [] } = answered;
    const [data, indices] = row.inputs;
    const isTree = model.family === "gather-tree";
    const records = cells.map(({ index, source, fate }, flat) => {
      const at = coordinatesOf(flat, shape);
      const hasEnd = isTree && ["ended", "beyond"].includes(fate);
      return {
        out: idOf(OUT, at),
        index: index < 0 ? idOf(row.inputs[2], [at[1]]) : idOf(indices, coordinatesOf(index, indexShape)),
        source: source >= 0 ? idOf(data, coordinatesOf(source, D)) : hasEnd ? row.inputs[3] : "-",
        lines: () => traceOf(model, answered, flat),
      };
    });
    return new Traces(records, null);
  }

  /** Return the records of the output cells that a cell belongs to. */
  of(cell) {
    const own = this.byOut.get(cell.id);
    return own ? [own] : (this.byCell.get(cell.id) ?? []);
  }

  /** Return the role of each cell that an output cell comes from; of beams the whole way. */
  roles(record) {
    const roles = new Map([[record.out, "out"]]);
    if (record.source !== "-") roles.set(record.source, "source");
    for (let at = record; at; at = this.next(at)) roles.set(at.index, "index");
    return roles;
  }

  /** Return the record of the step of a beam from which a parent leads to this one. */
  next({ out, index }) {
    if (!index.startsWith("parent_ids-")) return undefined;
    const [name, step, ...rest] = out.split("-");
    return this.byOut.get([name, Number(step) + 1, ...rest].join("-"));
  }

  /** Return the cell of the parents where a beam has its token; its value is not used for it. */
  place({ source }) {
    return source.startsWith("step_ids-") ? source.replace("step_ids", "parent_ids") : null;
  }
}

/** What each version answers, and what it makes of the value of an index. */
class Versions {
  /** `act` has `set(value, n)`, which changes number n of the chosen index if it can, and `mark`. */
  constructor(model, act) {
    this.model = model;
    this.act = act;
    this.component = 0;
    this.box = element("input", { type: "text", role: "spinbutton", autocomplete: "off" });
    this.axis = element("select", { "aria-label": "number of the tuple" });
    this.values = element("span", { class: "values", role: "group", "aria-label": "values to try" });
    this.refusal = element("p", { class: "refusal", role: "alert" });
    this.rows = new Map();
    const body = element("tbody", { role: "rowgroup" });
    for (const { full_name: name } of model.rows) {
      // A narrow page has no columns; the roles stay.
      const cells = Array.from({ length: 3 }, () => element("td", { role: "cell" }));
      const row = element("tr", { role: "row" }, element("th", { scope: "row", role: "rowheader" }, name), ...cells);
      this.rows.set(name, { row, cells });
      body.append(row);
    }
    this.legend = element("legend");
    this.head = element("th", { scope: "col" });
    const heads = ["version", "texts" in model.inputs[0] ? "answer" : "shape"].map((word) => element("th", { scope: "col" }, word));
    this.inputs = element("div", { class: "inputs" }, this.axis, this.box, this.values);
    const head = element("tr", {}, ...heads, this.head, element("th", { scope: "col" }, "reason"));
    const table = element("table", { role: "table" }, element("thead", {}, head), body);
    this.view = element("fieldset", { class: "fates" }, this.legend, this.inputs, this.refusal, element("div", { class: "wide" }, table));
    this.axis.addEventListener("change", () => {
      this.component = Number(this.axis.value);
      this.show(this.numbers);
    });
    this.box.addEventListener("input", () => this.read(false));
    this.box.addEventListener("change", () => this.read(true));
    this.box.addEventListener("keydown", (event) => this.step(event));
  }

  /** Show a call, and the answers of all versions. */
  answer(answers, own, call) {
    this.answers = answers;
    this.own = own;
    for (const [name, { row, cells }] of this.rows) {
      const { rule, why, shape } = answers.get(name);
      const [cell] = cells;
      cell.textContent = rule ? `refuses: ${rule}` : `shape ${sized(shape)}`;
      if (rule) cell.append(element("small", {}, why));
      if (name === own) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    const first = answers.get(own).shape ? answers.get(own) : [...answers.values()].find(({ shape }) => shape);
    this.axes = first?.axes ?? [];
    this.sizes = this.axes.map((axis) => call.inputs[0].shape[axis]);
    this.component = Math.min(this.component, Math.max(0, this.axes.length - 1));
    const options = this.axes.map((axis, n) => element("option", { value: n }, `number ${n}: axis ${axis} of size ${this.sizes[n]}`));
    this.axis.replaceChildren(...options);
    this.axis.hidden = this.axes.length < 2;
    this.view.disabled = !this.axes.length;
  }

  /** Show the numbers of an index, texts; of a tuple first one that is no position. */
  follow(numbers, at) {
    this.at = at;
    this.view.toggleAttribute("data-unchosen", !at);
    const telling = numbers.findIndex((text, n) => BigInt(text) < 0n || BigInt(text) >= BigInt(this.sizes[n] ?? 0));
    if (telling >= 0) this.component = telling;
    this.show(numbers);
  }

  show(numbers) {
    this.numbers = numbers;
    const n = this.component;
    const [size, axis] = [this.sizes[n], this.axes[n]];
    const { inputs } = this.model.rows[0];
    const name = this.at ?? `a value of ${inputs[1]}`;
    this.axis.value = n;
    this.legend.textContent = this.axes.length
      ? `Each version; ${name} counts along axis ${axis} of ${inputs[0]}, of size ${size}`
      : "Each version";
    this.inputs.hidden = !this.axes.length;
    this.head.textContent = this.at ?? "value";
    if (!this.axes.length) {
      for (const { cells } of this.rows.values()) cells[1].textContent = cells[2].textContent = "";
      return;
    }
    this.box.setAttribute("aria-label", `value of ${this.at ?? inputs[1]}`);
    const telling = [...new Set([-size - 1, -size, -1, 0, size - 1, size])].map(String);
    if ([...this.values.children].map((each) => each.textContent).join() !== telling.join()) {
      this.values.replaceChildren(...telling.map((value) => button(value, () => this.choose(value))));
    }
    this.box.value = numbers[n];
    this.say(BigInt(numbers[n]), false);
  }

  /** Set the value of the index, and show it. */
  choose(text) {
    this.box.value = text;
    this.read(true);
  }

  /** Read the integer that is typed, and change the index at its end; or say that it is none. */
  read(isEnd) {
    try {
      const value = BigInt(typedElement("i4096", this.box.value).text);
      this.say(value, true);
      if (isEnd) this.act.set(String(value), this.component);
    } catch ({ message }) {
      this.box.setAttribute("aria-invalid", "true");
      this.refusal.textContent = message;
      for (const { cells } of this.rows.values()) cells[1].textContent = cells[2].textContent = "";
      this.act.mark(null);
    }
  }

  /** Step to the integer above or below. */
  step(event) {
    const step = { ArrowUp: 1n, ArrowDown: -1n }[event.key];
    if (!step || !INTEGER.test(this.box.value.trim())) return;
    event.preventDefault();
    this.choose(String(BigInt(this.box.value.replace("+", "")) + step));
  }

  /** Say what becomes of a value in each version. */
  say(value, isMarked) {
    this.refusal.textContent = "";
    this.box.removeAttribute("aria-invalid");
    this.box.setAttribute("aria-valuetext", value);
    this.act.mark(null);
    for (const [name, { cells }] of this.rows) {
      const { shape, policy, axes } = this.answers.get(name);
      const size = shape && this.sizes[this.component];
      const at = shape ? policy.positionOf(value, size) : -1;
      const words = shape ? policy.wordsOf(value, size) : "";
      const [refused, reason] = words.split(": ");
      const becomes = !shape ? "" : at >= 0 ? String(at) : reason ? refused : "none";
      cells[1].textContent = !becomes || becomes === String(value) ? becomes : `${value} → ${becomes}`;
      cells[2].textContent = reason ?? words;
      if (name === this.own && isMarked && at >= 0) this.act.mark(axes[this.component], becomes);
    }
  }
}

/** The version, the attributes and the tensors of a call, which can be changed. */
class Controls {
  constructor(model, change) {
    this.model = model;
    this.change = change;
    this.refusal = element("p", { class: "refusal", role: "alert" });
    this.fields = new Map();
    const row = element("div", { class: "fields" });
    this.version = element("select", {});
    for (const { full_name: name } of model.rows) this.version.append(element("option", { value: name }, name));
    this.version.addEventListener("change", () => change({ version: this.version.value }));
    row.append(element("label", {}, "version ", this.version));
    for (const name of ["axis", "batch_dims"]) {
      if (!model.rows.some(({ attrs }) => name in attrs)) continue;
      const box = element("input", { type: "number", step: "1", class: "number" });
      box.addEventListener("change", () => this.set(name, box.value));
      this.fields.set(name, box);
      row.append(element("label", {}, `${name} `, box));
    }
    const tensors = element("div", { class: "fields" });
    model.inputs.forEach(({ name, dtype }, n) => {
      const box = element("input", { type: "text", class: "tensor", spellcheck: "false", autocomplete: "off" });
      box.addEventListener("change", () => this.read(n, box.value));
      this.fields.set(n, box);
      tensors.append(element("label", { class: "long" }, `${name} `, element("small", {}, dtype), box));
    });
    this.view = element("div", { class: "controls", role: "group", "aria-label": "Call" }, row, tensors, this.refusal);
  }

  show({ version, attrs, inputs }) {
    this.refusal.textContent = "";
    this.version.value = version;
    for (const [key, box] of this.fields) {
      const text = String(typeof key === "number" ? nested(inputs[key], this.model.inputs[key].dtype) : (attrs[key] ?? ""));
      box.dataset.shown = box.value = text;
      box.size = Math.min(Math.max(8, text.length + 1), MOST_FIELD_COLUMNS);
      box.removeAttribute("aria-invalid");
    }
  }

  /** Change an attribute to an integer, or to the version's default. */
  set(name, text) {
    const box = this.fields.get(name);
    if (text === "" ? box.validity.badInput : !INTEGER.test(text)) {
      this.refuse(name, `${text ? `“${text}”` : "this"} is no integer: expected digits, after a sign or none`);
    } else this.change((state) => ({ attrs: { ...state.attrs, [name]: text === "" ? null : Number(text) } }));
  }

  /** Read a tensor that is typed as an argument of the command. */
  read(n, text) {
    try {
      const input = read(text, this.model.inputs[n].dtype);
      this.change((state) => ({ inputs: state.inputs.with(n, input) }));
    } catch ({ message }) {
      this.refuse(n, message);
    }
  }

  /** Say why what is typed in a field is no value of it. */
  refuse(field, message) {
    this.fields.get(field).setAttribute("aria-invalid", "true");
    this.refusal.textContent = `${this.model.inputs[field]?.name ?? field}: ${message}`;
  }
}

/** The page of one call: controls, a drawing, the trace of a cell, and the versions. */
class Page {
  constructor(host) {
    host.dataset.ready = "";
    const { textContent } = host.querySelector('script[type="application/json"]');
    this.content = JSON.parse(textContent);
    this.model = this.content.call;
    this.host = host;
    this.isFile = Boolean(host.querySelector("svg"));
    this.isEditable = "texts" in this.model.inputs[0];
    this.original = drawingOf(host);
    this.content.form = formOf(this.original, this.model);
    this.chosen = null;
    this.root = host.attachShadow({ mode: "open" });
    this.count = element("p", { class: "count" });
    this.steps = element("div", { class: "steps" });
    this.equation = element("p", { class: "equation", role: "status" });
    this.others = element("div", { class: "steps" });
    this.answerLine = element("p", { class: "answer", role: "status" });
    this.copied = element("input", { class: "copied", readonly: "", "aria-label": "copied", hidden: "" });
    this.frame = element("div", { class: "frame" });
    const panel = element("section", { class: "panel", "aria-label": "Trace" });
    panel.append(element("p", { class: "help" }, HELP[this.isEditable]), this.count, this.steps, this.equation, this.others);
    this.stage = element("div", { class: "stage" }, this.frame, panel);
    this.versions = new Versions(this.model, {
      set: (value, n) => this.setNumber(value, n),
      mark: (axis, at) => this.drawing?.mark(axis === null ? null : this.model.rows[0].inputs[0], axis, at),
    });
    this.controls = new Controls(this.model, (part) => this.change(part));
    if (this.isEditable) this.stage.prepend(this.toolbar());
    this.root.append(this.stage, this.versions.view);
    this.dress();
    this.begin();
    this.listen(this.frame);
    this.frame.addEventListener("scroll", () => this.hint(), { passive: true });
    new ResizeObserver(() => this.resize()).observe(this.frame);
    if (this.isFile) this.listenToPage();
  }

  /** Adopt the styles: a strict policy of content leaves those of scripts. */
  dress() {
    const own = new CSSStyleSheet();
    own.replaceSync(this.host.querySelector("template").content.querySelector("style").textContent);
    const sheet = new CSSStyleSheet();
    const style = this.original.querySelector("style");
    style?.remove();
    const { styles } = this.content;
    this.root.adoptedStyleSheets = [sheet, own];
    if (!styles?.light) {
      sheet.replaceSync(styles?.both ?? style.textContent);
      return;
    }
    const choose = () => {
      const theme = themeOf(this.host);
      if (theme === this.host.dataset.theme) return;
      this.host.dataset.theme = theme;
      sheet.replaceSync(styles[theme]);
    };
    choose();
    const watched = new MutationObserver(choose);
    const attributeFilter = ["class", "style", "data-jp-theme-light", "data-vscode-theme-kind", "theme", "data-theme"];
    for (const each of [document.documentElement, document.body]) watched.observe(each, { attributes: true, attributeFilter });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", choose);
  }

  toolbar() {
    this.buttons = {
      undo: button("Undo", () => this.move(-1)),
      redo: button("Redo", () => this.move(1)),
      reset: button("Reset", () => this.change(this.states[0])),
    };
    const copies = [button("Copy as command", () => this.copy(commandOf(this.model, this.state)))];
    if (this.isFile) copies.push(button("Copy link", () => this.copy(location.href)));
    const buttons = element("div", { class: "buttons", role: "group", "aria-label": "Changes" }, ...Object.values(this.buttons), ...copies, this.copied);
    return element("section", { class: "toolbar", "aria-label": "Change the call" }, this.controls.view, buttons, this.answerLine);
  }

  /** Show the call of the page, or what the address changes of it. */
  begin() {
    const { attrs, version, inputs } = this.model;
    const values = inputs.map(({ shape, dtype, texts, words }) => ({
      shape,
      values: texts,
      words: words?.map((word) => wordOf(dtype, word)) ?? texts,
    }));
    this.states = [{ version, attrs, inputs: values }];
    this.at = 0;
    this.shapes = this.answerOf(this.state);
    if (this.original.querySelector(".outlines")) complete(this.original, pictureOf(this.content, this.shapes), this.content);
    this.render();
    this.choose(this.drawing.cells.get(this.content.start) ?? null);
    this.drawing.svg.removeAttribute("data-lighted"); // nothing is faint at first
    if (this.isEditable && this.isFile) this.follow();
  }

  get state() {
    return this.states[this.at];
  }

  rowOf({ version }) {
    return this.model.rows.find(({ full_name: name }) => name === version);
  }

  answerOf(state) {
    return { ...answer(this.model, this.rowOf(state), state), model: this.model };
  }

  /** Change parts of the call, and draw it anew. */
  change(part) {
    const { state } = this;
    const next = { ...state, ...(typeof part === "function" ? part(state) : part) };
    if (JSON.stringify(next) === JSON.stringify(state)) {
      this.controls.show(state);
      return;
    }
    this.states = [...this.states.slice(0, this.at + 1), next];
    this.at += 1;
    this.render();
    this.remember();
  }

  move(by) {
    const at = this.at + by;
    if (at < 0 || at >= this.states.length) return;
    this.at = at;
    this.render();
    this.remember();
  }

  /** Draw the call, light its chosen cell, and say what every version answers. */
  render() {
    const { state, model } = this;
    const answered = this.isEditable ? this.answerOf(state) : this.shapes;
    this.answered = answered;
    const answers = new Map(model.rows.map((row) => [row.full_name, answer(model, row, state)]));
    const focus = this.root.activeElement?.closest?.(".cell")?.id;
    const chosen = this.chosen?.id;
    this.drawing = new Drawing(this.draw(answered), this.isEditable);
    this.frame.replaceChildren(this.drawing.svg);
    if (this.isRoomier(answered)) {
      this.drawing = new Drawing(this.draw(answered, true), this.isEditable);
      this.frame.replaceChildren(this.drawing.svg);
    }
    this.laidOut = this.frame.clientWidth;
    this.hint();
    this.traces = this.isEditable ? Traces.answered(model, answered) : Traces.written(this.content);
    this.versions.answer(answers, state.version, { inputs: answered.inputs });
    this.current = this.drawing.cells.has(this.current) ? this.current : (this.content.start ?? this.traces.order[0]);
    if (this.isEditable) {
      this.controls.show(state);
      this.answerLine.textContent = this.words(answered);
      this.answerLine.toggleAttribute("data-refused", Boolean(answered.rule));
      this.buttons.undo.disabled = !this.at;
      this.buttons.redo.disabled = this.at + 1 >= this.states.length;
      this.buttons.reset.disabled = state === this.states[0];
      // a page around it may show the command
      this.host.dispatchEvent(new CustomEvent("gathercli", { bubbles: true, detail: commandOf(model, state) }));
    }
    this.shown = undefined;
    const cell = this.drawing.cells.get(chosen) ?? null;
    this.pointer = null;
    this.followFirst();
    if (focus && this.drawing.cells.has(focus)) this.drawing.cells.get(focus).focus({ preventScroll: true });
    this.choose(cell);
  }

  words({ row, rule, why, shape, cells }) {
    if (rule) return `${row.full_name} refuses: ${why} (${rule})`;
    const filled = cells.filter(({ fate }) => fate === "filled").length;
    const some = filled ? `, ${filled} of its ${cells.length} cells filled with ${fillingOf(this.model, this.answered.policy)}` : "";
    return `${row.full_name} answers with shape ${sized(shape)}${some}`;
  }

  /** Return the drawing of an answer: the original one, that painted anew, or one laid out plainly. */
  draw(answered, isPlain = false) {
    this.picture = null;
    const clone = this.original.cloneNode(true);
    narrow(clone, this.frame.clientWidth || Infinity);
    if (!this.isEditable || (this.state === this.states[0] && !isPlain)) return clone;
    const picture = pictureOf(this.content, answered);
    const count = picture.grids.reduce((sum, { cells }) => sum + cells.length, 0);
    if (count > MOST_DRAWN) return layOut({ ...picture, grids: [], links: [], panels: [], note: `${count} cells are too many to draw here` }, 0).svg;
    this.picture = picture;
    const { inputs } = this.states[0];
    const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
    const keeps =
      !isPlain &&
      isSame(...[this.shapes, answered].map(({ axis, b, shape, row: { tuples } }) => [axis, b, shape, tuples])) &&
      inputs.every(({ shape }, n) => isSame(shape, this.state.inputs[n].shape));
    this.boxes = boxesOf(clone);
    let svg = clone;
    const isKept = keeps && fitsIn(this.boxes, picture);
    if (!isKept) ({ svg, boxes: this.boxes } = layOut(picture, this.frame.clientWidth || 1000, this.content.form));
    paint(svg, picture, this.boxes, this.content, isKept);
    if (!isKept) clearWords(svg, 8);
    return svg;
  }

  /** Tell whether the drawing that Python made is cut off, or small on a narrow page; another is laid out for it. */
  isRoomier(answered) {
    const { clientWidth } = this.frame;
    const isSmall = clientWidth < NARROW && Number(this.drawing.svg.getAttribute("width")) > 1.1 * clientWidth;
    if (!this.isEditable || !(this.isCut || isSmall) || !answered.shape || this.drawing.cells.size > MOST_STACKED) return false;
    return pictureOf(this.content, answered).grids.every(({ name, cells }) => this.drawing.tensors.get(name)?.length === cells.length);
  }

  get isCut() {
    return this.frame.scrollWidth > this.frame.clientWidth + 1;
  }

  /** Lay a page out anew that became narrow, wide or visible. */
  resize() {
    const [width, before] = [this.frame.clientWidth, this.laidOut];
    if (width && (!before || Math.abs(width - before) > 40)) {
      const isLit = this.drawing.svg.hasAttribute("data-lighted");
      this.render();
      this.drawing.svg.toggleAttribute("data-lighted", isLit);
    }
    this.hint();
  }

  /** Mark the sides on which more can be scrolled to. */
  hint() {
    const { scrollLeft, scrollWidth, clientWidth } = this.frame;
    this.frame.toggleAttribute("data-before", scrollLeft > 2);
    this.frame.toggleAttribute("data-after", scrollLeft + clientWidth < scrollWidth - 2);
  }

  /** Change a number of the chosen index. */
  setNumber(text, n) {
    const pointer = this.pointer;
    if (!this.isEditable || !pointer) return;
    this.setValue(this.model.inputs.findIndex(({ name }) => name === pointer.dataset.tensor), pointer, (words) => words.with(n, text));
  }

  /** Return where the value of a cell is in its input: flat, and how many numbers it has. */
  placeOf(input, cell) {
    const { row } = this.answered;
    const { shape } = this.answered.inputs[input];
    const isTuple = input === 1 && row.tuples;
    const at = cell.dataset.at ? cell.dataset.at.split(",").map(Number) : [];
    const count = isTuple ? shape.at(-1) : 1;
    return { start: flatOf(at, isTuple ? shape.slice(0, -1) : shape) * count, count, isTuple };
  }

  /** Change the value of a cell; raise an Error if it is none. */
  setValue(input, cell, made) {
    const { start, count } = this.placeOf(input, cell);
    const { dtype, name } = this.model.inputs[input];
    try {
      const own = this.answered.inputs[input];
      const typed = made(own.values.slice(start, start + count));
      if (typed.length !== count) throw new Error(`${name} has tuples of ${count}`);
      const elements = typed.map((each) => typedElement(dtype, each));
      const values = own.values.toSpliced(start, count, ...elements.map((each) => each.text));
      const words = own.words.toSpliced(start, count, ...elements.map((each) => each.word));
      this.change((state) => ({ inputs: state.inputs.with(input, { shape: own.shape, values, words }) }));
      return true;
    } catch ({ message }) {
      this.controls.refusal.textContent = `${nameOf(cell)}: ${message}`;
      return false;
    }
  }

  /** Open an editor over a cell, with its value or what was typed. */
  edit(cell, typed) {
    const input = this.model.inputs.findIndex(({ name }) => name === cell.dataset.tensor);
    if (!this.isEditable || input < 0) return;
    const { start, count, isTuple } = this.placeOf(input, cell);
    const { values, words = values } = this.answered.inputs[input];
    const initial = words.slice(start, start + count).join(",");
    const box = element("input", { type: "text", class: "editor", autocomplete: "off", "aria-label": `value of ${nameOf(cell)}` });
    box.value = typed ?? initial;
    const [outer, inner] = [this.frame, cell.querySelector("rect")].map((each) => each.getBoundingClientRect());
    box.style.left = `${inner.left - outer.left + this.frame.scrollLeft}px`;
    box.style.top = `${inner.top - outer.top + this.frame.scrollTop}px`;
    box.style.width = `${Math.max(inner.width, 64)}px`;
    box.style.height = `${inner.height}px`;
    let isOpen = true;
    const close = (isDone, way) => {
      if (!isOpen) return;
      const text = box.value;
      const numbers = isTuple ? text.replace(/^\(|\)$/g, "").split(",").filter((each) => each.trim() || count) : [text];
      const { id } = cell;
      if (isDone && text !== initial && !this.setValue(input, cell, () => numbers)) {
        box.setAttribute("aria-invalid", "true");
        return;
      }
      isOpen = false;
      box.remove();
      const after = this.drawing.cells.get(id);
      if (isDone === "blur" || !after) return;
      this.focus(way ? this.drawing.beside(after, WAYS[way]) : after);
    };
    box.addEventListener("keydown", (event) => {
      event.stopPropagation();
      const way = { ArrowUp: "up", ArrowDown: "down" }[event.key];
      if (event.key === "Escape") {
        this.controls.refusal.textContent = "";
        close(false);
      } else if (event.key === "Enter" || event.key === "Tab" || way) close("done", way);
      else return;
      event.preventDefault();
    });
    box.addEventListener("blur", () => {
      close("blur");
      if (!isOpen) return;
      isOpen = false; // what was typed is no value
      box.remove();
    });
    this.frame.append(box);
    box.focus();
    if (typed === undefined) box.select();
  }

  /** Keep what is changed in the address. */
  remember() {
    if (!this.isFile) return;
    const [first, { state }] = [this.states[0], this];
    const parts = [];
    if (state.version !== first.version) parts.push(["version", state.version]);
    for (const name of ["axis", "batch_dims"]) {
      if (state.attrs[name] !== first.attrs[name]) parts.push([name, state.attrs[name] ?? ""]);
    }
    state.inputs.forEach((input, n) => {
      const { name, dtype } = this.model.inputs[n];
      const [own, before] = [input, first.inputs[n]].map((each) => nested(each, dtype));
      if (own !== before) parts.push([name, own]);
    });
    const hash = parts.map(([name, text]) => `${name}=${encodeURIComponent(text).replace(/%2C/g, ",")}`).join("&");
    this.hash = hash;
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  /** Show the state that the address has. */
  follow() {
    const hash = location.hash.slice(1);
    if (hash === (this.hash ?? "")) return;
    const next = { ...this.states[0], attrs: { ...this.states[0].attrs } };
    try {
      for (const part of hash.split("&").filter(Boolean)) {
        const [name, text = ""] = part.split("=", 1).concat(decodeURIComponent(part.slice(part.indexOf("=") + 1)));
        const n = this.model.inputs.findIndex((each) => each.name === name);
        if (name === "version" && this.rowOf({ version: text })) next.version = text;
        else if (name in next.attrs) next.attrs[name] = text === "" ? null : Number(typedElement("i32", text).text);
        else if (n >= 0) next.inputs = next.inputs.with(n, read(text, this.model.inputs[n].dtype));
      }
    } catch ({ message }) {
      this.controls.refusal.textContent = `the address has no call: ${message}`;
      return;
    }
    this.change(next);
  }

  /** Copy a text, which is shown too: a browser may refuse. */
  copy(text) {
    this.copied.hidden = false;
    this.copied.value = text;
    this.copied.focus();
    this.copied.select();
    if (navigator.clipboard) navigator.clipboard.writeText(text).catch(() => document.execCommand("copy"));
    else document.execCommand("copy");
  }

  listen(frame) {
    const cellOf = (event) => event.target.closest(".cell");
    // Between two cells the first stays lit: its arrows can be followed, and nothing flickers.
    frame.addEventListener("pointerover", (event) => this.show(cellOf(event) ?? this.shown));
    frame.addEventListener("pointerleave", () => this.show(this.chosen));
    frame.addEventListener("focusin", (event) => {
      if (cellOf(event)) this.choose(cellOf(event));
    });
    frame.addEventListener("click", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      // The first click chooses, the second one changes.
      const again = this.chosen === cell && this.clicked === cell.id;
      this.clicked = cell.id;
      this.focus(cell, { preventScroll: true });
      if (again) this.edit(cell);
    });
    frame.addEventListener("keydown", (event) => this.press(event, cellOf(event)));
    this.root.addEventListener("keydown", (event) => {
      // what is being typed has an undo of its own
      const isTyped = event.target.matches("input:not([readonly])") && event.target.value !== event.target.dataset.shown;
      if (!(event.ctrlKey || event.metaKey) || isTyped || !this.isEditable) return;
      const by = { z: event.shiftKey ? 1 : -1, Z: 1, y: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      this.move(by);
    });
  }

  /** Let the arrows to the sides step before anything has the focus, and the address change. */
  listenToPage() {
    document.addEventListener("keydown", (event) => {
      const ours = ["ArrowLeft", "ArrowRight", "Escape"].includes(event.key);
      if (ours && event.target === document.body) this.press(event, this.drawing.cells.get(this.current));
    });
    if (this.isEditable) window.addEventListener("hashchange", () => this.follow());
  }

  press(event, cell) {
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    const { tensor } = cell.dataset;
    const isInput = this.isEditable && tensor !== OUT;
    const isTyped = isInput && /^[-+0-9.]$/.test(event.key);
    let word = MEANINGS.get(event.key);
    if (word === "edit" && !isInput) word = "next";
    if (event.key === "0" && !isInput) word = "first";
    if (!word && !isTyped) return;
    event.preventDefault();
    event.stopPropagation(); // a notebook has other uses for these keys
    if (isTyped || word === "edit") {
      this.edit(cell, isTyped ? event.key : undefined);
      return;
    }
    if (word === "clear") {
      this.choose(null);
      return;
    }
    if (word in WAYS) {
      this.focus(this.drawing.beside(cell, WAYS[word]));
      return;
    }
    const { cells, tensors } = this.drawing;
    const drawn = tensors.get(tensor).map(({ id }) => id);
    const order = tensor === OUT ? this.traces.order.filter((id) => cells.has(id)) : drawn;
    const at = order.indexOf(cell.id);
    const last = order.length - 1;
    const to = { next: at + 1, back: at - 1, first: 0, last }[word];
    this.focus(cells.get(order[Math.max(0, Math.min(to, last))]));
  }

  /** Move the focus to a cell, and choose it also where it has the focus. */
  focus(cell, options) {
    cell.focus(options);
    this.choose(cell);
  }

  /** Choose a cell, which stays lit when one points at none; null for none. */
  choose(cell) {
    this.chosen = cell;
    if (cell) {
      if (cell.dataset.tensor === OUT) this.current = cell.id;
      this.drawing.reach(cell);
    }
    this.show(cell);
  }

  /** Light what belongs to a cell, and say why. */
  show(cell) {
    if (cell === this.shown) return;
    this.shown = cell;
    const records = cell ? this.traces.of(cell) : [];
    const roles = new Map(records.flatMap((record) => [...this.traces.roles(record)]));
    for (const id of records.map((record) => this.traces.place(record))) {
      if (id && !roles.has(id)) roles.set(id, "place");
    }
    if (cell && !roles.has(cell.id)) roles.set(cell.id, "alone");
    if (this.picture?.count > MOST_ARROWS) {
      const own = this.picture.links.filter((link) => roles.has(link.own)).slice(0, MOST_ARROWS);
      connect(this.drawing.svg, this.picture, this.boxes, this.content, own);
      this.drawing.connect();
    }
    this.drawing.light(roles, cell);
    this.drawing.mark(null);
    const isTree = this.model.family === "gather-tree";
    this.drawing.embolden(isTree ? null : this.drawing.cells.get(records[0]?.source), this.answered.axes);
    this.follows(cell, records);
    this.say(cell, records);
  }

  /** Return the parent beside the token of a cell; a cell of the last step has no other. */
  parentOf(cell, record) {
    const id = cell?.dataset.tensor === "step_ids" ? cell.id : record?.source;
    const parent = id && this.drawing.cells.get(this.traces.place({ source: id }));
    return parent?.dataset.at.startsWith("0,") ? undefined : parent; // the first parents lead nowhere
  }

  /** Show the index that a cell is, or comes from, in every version. */
  follows(cell, [record]) {
    const [, name] = this.model.rows[0].inputs;
    const pointer = cell?.dataset.tensor === name ? cell : this.drawing.cells.get(record?.index) ?? this.parentOf(cell, record);
    if (!pointer) return;
    this.pointer = pointer;
    if (!this.isEditable) {
      const numbers = this.content.indices[pointer.id];
      if (numbers) this.versions.follow(numbers, nameOf(pointer));
      return;
    }
    if (pointer.dataset.tensor !== name) return;
    const { start, count } = this.placeOf(1, pointer);
    const numbers = this.answered.inputs[1].values.slice(start, start + count);
    if (numbers.every((text) => INTEGER.test(text)) && numbers.length) this.versions.follow(numbers, nameOf(pointer));
  }

  /** Show the first index in every version; of beams the first parent that leads somewhere. */
  followFirst() {
    const [, name] = this.model.rows[0].inputs;
    const isLeading = ({ dataset: { at } }) => this.model.family !== "gather-tree" || !at.startsWith("0,");
    const first = this.drawing.tensors.get(name)?.find(isLeading);
    this.versions.follow(Array(Math.max(1, this.versions.axes.length)).fill("0"), null);
    if (first) this.follows(first, []);
  }

  say(cell, records) {
    const [first, ...others] = records;
    const steps = first ? first.lines() : [];
    const equation = steps.pop()?.trim() ?? (cell ? this.unread(cell) : "");
    const lines = (texts) => texts.map((text) => element("p", {}, text));
    this.count.textContent = cell ? this.position(cell, first, records.length) : "";
    this.steps.replaceChildren(...lines(steps));
    this.equation.textContent = equation;
    const more = others.slice(0, OTHERS).map((each) => each.lines().pop());
    const rest = others.length - more.length;
    this.others.replaceChildren(...lines(more), ...lines(rest ? [`  … and ${rest} more`] : []));
  }

  unread(cell) {
    return `${nameOf(cell)} is used by no ${this.traces.total ? "drawn " : ""}cell of ${OUT}`;
  }

  position(cell, record, count) {
    const { order, total: all } = this.traces;
    if (cell.dataset.tensor !== OUT) {
      const cells = count === 1 ? "1 cell" : `${count} cells`;
      return record ? `${nameOf(cell)} is used by ${cells} of ${OUT}` : "";
    }
    const some = all ? ` drawn, of ${all}` : "";
    return `cell ${order.indexOf(cell.id) + 1} of ${order.length}${some}`;
  }
}

const parent = document.currentScript?.parentElement;
const hosts = parent?.matches("[data-gathercli]")
  ? [parent]
  : document.querySelectorAll("[data-gathercli]:not([data-ready])"); // a notebook moved the script
for (const host of hosts) new Page(host);
