// Light the cells of a drawing that belong together, say why, and show index values in each version.
//
// A host element holds the drawing (an <svg>, or an <img> of one in a notebook, which stays if the
// notebook runs no scripts), a <template> of the styles, and the content that page_content.py makes.
(() => {
  "use strict";

  const KEYS = {
    next: [" ", "n", "j", "l", "Enter", "ArrowRight", "ArrowDown", "PageDown"],
    back: ["b", "p", "k", "h", "Backspace", "ArrowLeft", "ArrowUp", "PageUp"],
    first: ["g", "0", "Home"],
    last: ["G", "$", "End"],
    clear: ["q", "Escape"],
  };
  const MEANINGS = new Map(
    Object.entries(KEYS).flatMap(([word, keys]) => keys.map((key) => [key, word])),
  );
  const OUT = "out";
  const INTEGER = /^[-+]?[0-9]+$/;
  const OTHERS = 5; // equations of further cells of the output
  const HELP = "Point at any cell. Arrow keys step, Escape clears.";

  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  /** Return the drawing of a host as an <svg> element that can stand in a shadow root. */
  function drawingOf(host) {
    const inline = host.querySelector("svg");
    if (inline) return inline;
    const encoded = host.querySelector("img").src.split(",")[1];
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    const source = new TextDecoder().decode(bytes);
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    return document.importNode(parsed.documentElement, true);
  }

  /** The cells and arrows of a drawing: which are lit, and which of them the keys reach. */
  class Drawing {
    constructor(svg) {
      this.svg = svg;
      this.cells = new Map();
      this.tensors = new Map();
      for (const cell of svg.querySelectorAll(".cell")) {
        this.cells.set(cell.id, cell);
        const [tensor, ...at] = cell.id.split("-");
        Object.assign(cell.dataset, { tensor, at: at.join(",") });
        if (!this.tensors.has(tensor)) this.tensors.set(tensor, []);
        this.tensors.get(tensor).push(cell);
      }
      this.slices = new Map([...svg.querySelectorAll(".slice")].map((each) => [each.id, each]));
      // What is lit along with cells: each element with the cells at its ends.
      this.links = [
        ...[...this.slices].map(([id, slice]) => [slice, [this.members(id)]]),
        ...[...svg.querySelectorAll(".arrow")].map((arrow) => [
          arrow,
          [arrow.dataset.from, arrow.dataset.to].map((id) => this.members(id)),
        ]),
      ];
      for (const each of svg.querySelectorAll(".traced, .faint")) {
        each.classList.remove("traced", "faint"); // what is lit says it
      }
      this.describe();
    }

    /** Return the ids of the cells in a cell or a slice; null for the place beside a tensor. */
    members(id) {
      if (this.cells.has(id)) return [id];
      const end = this.slices.get(id);
      if (!end || end.classList.contains("outside")) return null;
      const wanted = end.dataset.at.split(",");
      return (this.tensors.get(end.dataset.tensor) ?? [])
        .filter((cell) => {
          const at = cell.dataset.at.split(",");
          return wanted.every((word, d) => word === ":" || word === at[d]);
        })
        .map((cell) => cell.id);
    }

    /** Give the drawing and its cells roles and names, and let keys reach them. */
    describe() {
      this.svg.setAttribute("role", "group");
      const title = this.svg.querySelector("title");
      this.svg.setAttribute("aria-label", title.textContent);
      title.remove(); // a browser would show it wherever one points
      for (const cells of this.tensors.values()) {
        cells.forEach((cell, n) => {
          // Cells that follow each other are a list; a tensor may have several, its facets.
          const before = cell.previousElementSibling;
          const list = before?.getAttribute("role") === "listbox" ? before : this.listBefore(cell);
          list.append(cell);
          const value = cell.querySelector("text:not(.letter)");
          cell.setAttribute("role", "option");
          cell.setAttribute("aria-selected", "false");
          cell.setAttribute("aria-label", `${nameOf(cell)}: ${value?.textContent ?? ""}`);
          cell.setAttribute("tabindex", n ? "-1" : "0");
        });
      }
    }

    /** Begin a list of cells in front of one. */
    listBefore(cell) {
      const list = document.createElementNS(this.svg.namespaceURI, "g");
      list.setAttribute("role", "listbox");
      list.setAttribute("aria-label", cell.dataset.tensor);
      cell.before(list);
      return list;
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
      const isLit = (ids) => ids === null || ids.some((id) => roles.has(id));
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

  /** What the cells of the output come from. */
  class Traces {
    constructor({ tensors, templates, lines, cells, total }) {
      this.templates = templates;
      this.lines = lines;
      this.total = total;
      const named = (id) => id.replace(/^[0-9]+/, (number) => tensors[number]);
      this.byOut = new Map();
      for (const cell of cells) {
        const [out, index, source, steps] = cell.split(" ");
        const record = { out: named(out), index: named(index), source: named(source) };
        record.steps = steps.split(",");
        this.byOut.set(record.out, record);
      }
      this.order = [...this.byOut.keys()];
      this.byCell = new Map();
      for (const record of this.byOut.values()) {
        for (const id of this.roles(record).keys()) {
          if (!this.byCell.has(id)) this.byCell.set(id, []);
          this.byCell.get(id).push(record);
        }
      }
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

    text(number) {
      const [template, ...numbers] = this.lines[number].split(" ");
      return this.templates[template].map((part, n) => part + (numbers[n] ?? "")).join("");
    }

    steps(record) {
      return record.steps.map((number) => this.text(number));
    }
  }

  /** The fate of an index value in each version, chosen with a slider or typed. */
  class Fates {
    constructor(tables, own, mark) {
      this.tables = tables.map((table) => ({
        ...table,
        size: BigInt(table.size),
        values: table.values.map(BigInt),
      }));
      this.mark = mark;
      const label = `value of ${tables[0].input}`;
      this.slider = element("input", { type: "range", min: "0", "aria-label": label });
      // A box of type "number" turns what is not a number into nothing, and so could not name it.
      this.box = element("input", { type: "text", role: "spinbutton", "aria-label": label });
      this.axis = element("select", { "aria-label": "axis" });
      this.values = element("span", { class: "values", role: "group", "aria-label": "values" });
      this.refusal = element("p", { class: "refusal", role: "alert" });
      this.status = element("p", { class: "fate", role: "status" });
      this.own = own;
      this.rows = new Map();
      const body = element("tbody");
      for (const name of Object.keys(tables[0].versions)) {
        const [target, how] = [element("td"), element("td")];
        const row = element("tr", {}, element("th", { scope: "row" }, name), target, how);
        if (name === own) row.setAttribute("aria-current", "true");
        this.rows.set(name, { target, how });
        body.append(row);
      }
      tables.forEach((table, n) => this.axis.append(element("option", { value: n }, axisOf(table))));
      this.axis.hidden = tables.length < 2;
      this.legend = element("legend");
      const head = ["version", "becomes", "reason"].map((word) => element("th", { scope: "col" }, word));
      this.view = element(
        "fieldset",
        { class: "fates" },
        this.legend,
        element("div", { class: "inputs" }, this.axis, this.slider, this.box, this.values),
        this.refusal,
        this.status,
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), body),
      );
      this.axis.addEventListener("change", () => this.choose(Number(this.axis.value)));
      this.slider.addEventListener("input", () => this.show(this.table.values[this.slider.value]));
      this.box.addEventListener("input", () => this.read());
      this.box.addEventListener("keydown", (event) => this.step(event));
      this.choose(0);
    }

    /** Choose an axis, and the index -1. */
    choose(n) {
      this.axis.value = n;
      this.table = this.tables[n];
      const { input, size, values } = this.table;
      this.legend.textContent = `A value of ${input} on ${axisOf(this.table)}, in each version`;
      this.slider.max = values.length - 1;
      const ends = new Set([-size - 1n, -size, -1n, size - 1n, size]);
      this.values.replaceChildren(
        ...[...ends].map((value) => {
          const button = element("button", { type: "button" }, String(value));
          button.addEventListener("click", () => this.show(value));
          return button;
        }),
      );
      this.show(-1n, false);
    }

    /** Show the fate of the integer that is typed, or say that it is none. */
    read() {
      const typed = this.box.value.trim();
      if (INTEGER.test(typed)) {
        this.answer(BigInt(typed.replace("+", "")), true);
        return;
      }
      this.box.setAttribute("aria-invalid", "true");
      const name = typed ? `“${typed}”` : "nothing";
      this.refusal.textContent = `${name} is no integer: expected digits, after a sign or none`;
      for (const { target, how } of this.rows.values()) target.textContent = how.textContent = "";
      this.status.textContent = "";
      this.mark(this.table.axis, null);
    }

    /** Show the integer above or below. */
    step(event) {
      const step = { ArrowUp: 1n, ArrowDown: -1n }[event.key];
      if (!step) return;
      event.preventDefault();
      this.show(this.value + step);
    }

    /** Show an index value in the box, and its fate. */
    show(value, marked = true) {
      this.box.value = value;
      this.answer(value, marked);
    }

    /** Say what becomes of an index value; the slider goes to the next of its own. */
    answer(value, marked) {
      const { values, versions, axis } = this.table;
      this.value = value;
      this.box.removeAttribute("aria-invalid");
      this.box.setAttribute("aria-valuetext", value);
      this.refusal.textContent = "";
      const after = values.findIndex((each) => each >= value);
      this.slider.value = after < 0 ? values.length - 1 : after;
      this.slider.setAttribute("aria-valuetext", value);
      for (const [name, spans] of Object.entries(versions)) {
        const span = spans.find(({ last }) => last === null || value <= BigInt(last));
        const becomes = String(become(value, span));
        const { target, how } = this.rows.get(name);
        const same = !becomes || becomes === String(value);
        target.textContent = same ? becomes : `${value} → ${becomes}`;
        how.textContent = span.why;
        if (name !== this.own) continue;
        this.status.textContent = `${name}: ${target.textContent}${span.why && `, ${span.why}`}`;
        this.mark(axis, marked ? becomes : null);
      }
    }

    /** Show the index of a cell, if it has one; of a tuple first a number that is no position. */
    follow(index) {
      if (!index) return;
      const numbers = index.map(BigInt);
      const telling = this.tables.findIndex(({ size }, n) => numbers[n] < 0n || numbers[n] >= size);
      if (telling >= 0) this.choose(telling);
      this.show(numbers[this.tables.indexOf(this.table)], false);
    }
  }

  /** Return what becomes of an index value by the rule of its span: a position or a word. */
  function become(index, { rule, value }) {
    if (rule === "is") return value;
    const number = BigInt(value);
    return rule === "plus" ? index + number : ((index % number) + number) % number;
  }

  function axisOf({ axis, size, component }) {
    const where = component === null ? "" : `component ${component}: `;
    return `${where}axis ${axis} of size ${size}`;
  }

  /** The page of one call: a drawing, the trace of a cell below it, and the fates of an index. */
  class Page {
    constructor(host) {
      host.dataset.ready = "";
      const { textContent } = host.querySelector('script[type="application/json"]');
      this.content = JSON.parse(textContent);
      const isFile = Boolean(host.querySelector("svg"));
      this.drawing = new Drawing(drawingOf(host));
      this.traces = new Traces(this.content);
      this.chosen = null;
      this.current = this.content.start ?? this.traces.order[0];
      this.count = element("p", { class: "count" });
      this.steps = element("div", { class: "steps" });
      this.equation = element("p", { class: "equation", role: "status" });
      this.others = element("div", { class: "steps" });
      const frame = element("div", { class: "frame" }, this.drawing.svg);
      const panel = element("section", { class: "panel", "aria-label": "Trace" });
      const help = element("p", { class: "help" }, HELP);
      panel.append(help, this.count, this.steps, this.equation, this.others);
      const root = host.attachShadow({ mode: "open" });
      root.append(host.querySelector("template").content.cloneNode(true), frame, panel);
      const { fates, version, tensors } = this.content;
      const [, data] = tensors;
      if (fates.length) {
        this.fates = new Fates(fates, version, (axis, at) => this.drawing.mark(data, axis, at));
        root.append(this.fates.view);
      }
      this.listen(frame);
      if (isFile) this.listenToPage();
      this.choose(this.drawing.cells.get(this.content.start) ?? null);
      this.drawing.svg.removeAttribute("data-lighted"); // nothing is faint at first
    }

    listen(frame) {
      const cellOf = (event) => event.target.closest(".cell");
      // Between two cells the first stays lit: its arrows can be followed, and nothing flickers.
      frame.addEventListener("pointerover", (event) => this.show(cellOf(event) ?? this.shown));
      frame.addEventListener("pointerleave", () => this.show(this.chosen));
      frame.addEventListener("focusin", (event) => this.choose(cellOf(event)));
      frame.addEventListener("click", (event) => {
        const cell = cellOf(event);
        if (cell) this.focus(cell, { preventScroll: true });
      });
      frame.addEventListener("keydown", (event) => this.press(event, cellOf(event)));
    }

    /** Let the arrows to the sides step before anything has the focus. */
    listenToPage() {
      document.addEventListener("keydown", (event) => {
        const ours = ["ArrowLeft", "ArrowRight", "Escape"].includes(event.key);
        if (ours && event.target === document.body) {
          this.press(event, this.drawing.cells.get(this.current));
        }
      });
    }

    press(event, cell) {
      const word = MEANINGS.get(event.key);
      if (!word || !cell || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation(); // a notebook has other uses for these keys
      if (word === "clear") {
        this.choose(null);
        return;
      }
      const { tensor } = cell.dataset;
      const { cells, tensors } = this.drawing;
      const order = tensor === OUT ? this.traces.order : tensors.get(tensor).map(({ id }) => id);
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
      if (records.length) this.fates?.follow(this.content.indices[records[0].index]);
      const roles = new Map(records.flatMap((record) => [...this.traces.roles(record)]));
      for (const id of records.map((record) => this.traces.place(record))) {
        if (id && !roles.has(id)) roles.set(id, "place");
      }
      if (cell && !roles.has(cell.id)) roles.set(cell.id, "alone");
      this.drawing.light(roles, cell);
      this.drawing.mark(null);
      this.say(cell, records);
    }

    say(cell, records) {
      const [first, ...others] = records;
      const steps = first ? this.traces.steps(first) : [];
      const equation = steps.pop()?.trim() ?? (cell ? this.unread(cell) : "");
      const lines = (texts) => texts.map((text) => element("p", {}, text));
      this.count.textContent = cell ? this.position(cell, first, records.length) : "";
      this.steps.replaceChildren(...lines(steps));
      this.equation.textContent = equation;
      const more = others.slice(0, OTHERS).map((each) => this.traces.steps(each).pop());
      const rest = others.length - more.length;
      this.others.replaceChildren(...lines(more), ...lines(rest ? [`  … and ${rest} more`] : []));
    }

    unread(cell) {
      return `${nameOf(cell)} is used by no ${this.traces.total ? "drawn " : ""}cell of ${OUT}`;
    }

    position(cell, record, count) {
      const { order, total } = this.traces;
      if (cell.dataset.tensor !== OUT) {
        const cells = count === 1 ? "1 cell" : `${count} cells`;
        return record ? `${nameOf(cell)} is used by ${cells} of ${OUT}` : "";
      }
      const drawn = total ? ` drawn, of ${total}` : "";
      return `cell ${order.indexOf(cell.id) + 1} of ${order.length}${drawn}`;
    }
  }

  const parent = document.currentScript?.parentElement;
  const hosts = parent?.matches("[data-gathercli]")
    ? [parent]
    : document.querySelectorAll("[data-gathercli]:not([data-ready])"); // a notebook moved the script
  for (const host of hosts) new Page(host);
})();
