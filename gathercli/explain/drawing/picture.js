// Draw a changed call: read its cells, letters and arrows, and paint them over a layout.
//
// A change that keeps all shapes is painted over the layout of the drawing that Python made; another
// one has a plain layout. Elements, ids and classes are those that svg.py writes.

const SVG = "http://www.w3.org/2000/svg";
const MOST_ARROWS = 24; // the indices, or cells, up to which all have arrows
const MOST_BEAM_LETTERS = 3; // beside a cell on several paths
const CELL = { height: 38, width: 44, gap: 10, lane: 26 };
const CHANNELS = [104, 60]; // the space between tensors beside each other
const SPACE = { wide: 73, narrow: 47 }; // and below each other
const MARGIN = 28;
const LEAST_SCALE = 0.92; // at which letters have 11 px, as in page.css
const MOST_STACKED = 200; // cells of a picture whose tensors stand below each other for want of room
const NARROW = 640; // the width from which tensors stand beside each other
const EM = 11.44; // the width of a character of 19 px
const LETTER_EM = 7.22; // and of one of 12 px
const BOLDER = 1.1; // the width of bold letters as a part of that of others
const PLAIN_HUES = 6; // the colours without stripes

function drawn(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const idOf = (tensor, at) => [tensor, ...at].join("-");

function letterOf(number, first) {
  let name = "";
  for (let rest = number + 1; rest; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(first.charCodeAt(0) + ((rest - 1) % 26)) + name;
  }
  return name;
}

/** Read what a picture of an answer shows.
 *
 * It has the `grids` in the order in which arrows pass them, each a tensor with its cells, and the
 * `links` between cells by id, of an index or a beam each. A refused call has no output.
 */
function pictureOf(content, answered) {
  const { call: model, letters: first, form = {} } = content;
  const picture = model.family === "gather-tree" ? beamsOf(model, answered, first) : picksOf(model, answered, first);
  const { row, axis, D, I, shape } = answered;
  const [indices, data] = [model.inputs[1], model.inputs[0]];
  const isTree = model.family === "gather-tree";
  const lead = shape && !isTree ? leadOf(answered) : 0;
  const rank = D.length - lead;
  const isDown = rank === 1 || (!row.tuples && axis === D.length - (row.elementwise && rank > 1 ? 2 : 1));
  const types = Object.fromEntries(model.inputs.map(({ name, dtype }, n) => [name, `${dtype}${sized(answered.shapes[n])}`]));
  if (shape) types.out = `${data.dtype}${sized(shape)}`;
  const equation = shape ? equationOf(model, answered) : row.equation;
  return {
    ...picture,
    ...headingOf(model, answered, form),
    equation,
    spans: shape && !isTree ? spansOf(equation, row.inputs[1]) : [],
    note: shape ? `shape of out: ${shapeWords(answered)}` : `refused: ${answered.why}`,
    isDown: isDown && !isTree,
    isLinedUp: Boolean(row.elementwise) && rank > 1 && !isTree,
    types,
    ...panelsOf(answered, lead, picture),
    typeWords: [...Object.entries(types).map((words) => words.join("\u00a0")), ...(shape && !isTree ? [axisLines(answered).map(([words]) => words).join(",  ")] : [])].join("    "),
    isTerse: isTree || Boolean(lead), // types stand apart from the tensors
    batches: isTree && shape ? lengthsOf(answered) : [],
    notes: shape && !isTree ? { [data.name]: axisLines(answered), [indices.name]: tupleLines(answered) } : {},
  };
}

/** Return the number of leading dimensions that are panels: batches, or those that stay of a matrix. */
function leadOf({ row, D, axis, b, shape }) {
  if (!total(D.slice(0, b)) || !total(shape)) return 0;
  return b || (row.elementwise ? Math.max(0, Math.min(axis, D.length - 2)) : 0);
}

/** Return the `panels` of a picture, each with its coordinates, and where those of each cell are.
 *
 * A panel has the `at` in the data and indices, the `outAt` in the output, and the id of its
 * `place` for indices that point nowhere; `leads` are the panels' dimensions of each tensor.
 */
function panelsOf({ row, b, axis, D, shape }, lead, { grids, links }) {
  const isMerged = row.flattens_batch && b > 1;
  const leads = grids.map(({ name }) => (name === "out" && isMerged ? 1 : lead));
  const staying = lead && !b ? shape.slice(0, lead) : D.slice(0, lead);
  const placeOf = (at) => idOf("slice-outside", at);
  const outside = new Set();
  for (const link of links) {
    link.place = placeOf(link.own.split("-").slice(1, 1 + lead));
    if (link.from === null || link.to === null) outside.add(link.place);
  }
  const panels = flats(staying).map((n) => {
    const at = coordinatesOf(n, staying);
    return { at, outAt: isMerged ? [n] : at, place: placeOf(at), hasOutside: outside.has(placeOf(at)) };
  });
  return { lead, leads, panels, places: outside };
}

/** Return the part of a tensor that a panel has, without the panel's coordinates. */
function partOf(grid, lead, at) {
  if (!lead) return grid;
  const cells = grid.cells.filter((cell) => at.every((n, d) => cell.at[d] === n)).map((cell) => ({ ...cell, at: cell.at.slice(lead) }));
  return { ...grid, before: at, shape: grid.shape.slice(lead), cells, words: `${grid.name}[${[...at, ...grid.shape.slice(lead).map(() => ":")].join(",")}]` };
}

const plainCell = (name, shape, text) => (flat) => {
  const at = coordinatesOf(flat, shape);
  return { id: idOf(name, at), at, text: text(flat), tail: "", letter: "", kinds: [] };
};

function gridOf(name, shape, cellOf) {
  return { name, shape, cells: flats(shape).map(cellOf) };
}

function picksOf(model, answered, first) {
  const { row, inputs, D, shape, axes, cells = [], picks } = answered;
  const [dataName, indexName] = row.inputs;
  const values = inputs.map((input) => input.values);
  const indexShape = row.tuples ? answered.I.slice(0, -1) : answered.I;
  const k = row.tuples ? (answered.I.at(-1) ?? 1) : 1;
  const numbers = (flat) => numbersText(values[1].slice(flat * k, flat * k + k), row.tuples);
  const data = gridOf(dataName, D, plainCell(dataName, D, (flat) => values[0][flat]));
  const indices = gridOf(indexName, indexShape, plainCell(indexName, indexShape, numbers));
  if (!shape) return { grids: [indices, data], links: [] };
  const out = gridOf("out", shape, plainCell("out", shape, (flat) => textOf(model, answered, cells[flat])));
  const groups = picks.map(() => ({ sources: [], outs: [] }));
  cells.forEach(({ index, source }, flat) => {
    if (source >= 0) groups[index].sources.push(source);
    groups[index].outs.push(flat);
  });
  // Indices that pick the same have one letter; what they pick starts with the same element.
  const units = new Map();
  const links = [];
  picks.forEach(({ numbers: own, positions, fate }, n) => {
    const { sources, outs } = groups[n];
    const unit = sources.length ? Math.min(...sources) : null;
    if (unit !== null && !units.has(unit)) units.set(unit, units.size);
    const color = unit === null ? null : units.get(unit);
    const letter = color === null ? "" : letterOf(color, first);
    const target = fate === "copied" ? numbersText(positions, row.tuples) : NOWHERE[fate];
    const cell = indices.cells[n];
    const kinds = [fate, ...(own.some((each) => each < 0n) ? ["negative"] : [])];
    Object.assign(cell, { letter, color, kinds, fate, tail: target === cell.text ? "" : ` → ${target}` });
    for (const flat of sources) Object.assign(data.cells[flat], { letter, color, isRead: true });
    const text = fate === "refused" ? { text: "!" } : {};
    for (const flat of outs) Object.assign(out.cells[flat], { letter, color, fate, kinds: [fate], ...text });
    const ids = (grid, list) => [...new Set(list)].map((flat) => grid.cells[flat].id);
    const kind = fate === "copied" ? [] : [fate];
    const [from, to] = [ids(data, sources), ids(out, outs)];
    const place = fate === "copied" ? from : null;
    if (!outs.length) return;
    links.push({ own: cell.id, color, kinds: ["picks", ...kind], from: [cell.id], to: place });
    if (fate !== "refused") links.push({ own: cell.id, color, kinds: ["lands", ...kind], from: place, to });
  });
  for (const cell of data.cells) if (!cell.isRead) cell.kinds.push("unread");
  const isFromEnd = picks.some(({ numbers: own, positions }) => own.some((k, n) => k < 0n && k + BigInt(D[axes[n]]) === BigInt(positions[n])));
  return { grids: [indices, data, out], links, count: picks.length, fromEnd: isFromEnd ? axes : [] };
}

function beamsOf(model, answered, first) {
  const { row, inputs, shape, cells } = answered;
  const grids = [1, 0].map((n) => {
    const { shape: own, values } = inputs[n];
    return { ...gridOf(row.inputs[n], own, plainCell(row.inputs[n], own, (flat) => values[flat])), isTree: own.length === 3 };
  });
  if (!shape) return { grids, links: [] };
  const [parents, steps] = grids;
  const [T, B, W] = shape;
  const flat = (t, b, w) => (t * B + b) * W + w;
  const out = { ...gridOf("out", shape, plainCell("out", shape, (n) => textOf(model, answered, cells[n]))), isTree: true };
  const users = new Map();
  const links = [];
  for (let b = 0; b < B; b++) {
    for (let w = 0; w < W; w++) {
      const color = b * W + w;
      const way = wayOf(answered, b, w);
      way.forEach(([t, beam], n) => {
        const at = flat(t, b, beam);
        users.set(at, [...(users.get(at) ?? []), w]);
        const own = `out-0-${b}-${w}`;
        const next = way[n + 1];
        if (next) {
          const ends = { from: [steps.cells[at].id], to: [steps.cells[flat(next[0], b, next[1])].id] };
          links.push({ own, color, kinds: ["picks"], climbs: true, lane: (w + 1) / (W + 1), ...ends });
        }
        if (cells[flat(t, b, w)].fate !== "copied") return;
        links.push({ own, color, kinds: ["lands"], from: [steps.cells[at].id], to: [out.cells[flat(t, b, w)].id] });
      });
      for (let t = 0; t < T; t++) {
        const { fate } = cells[flat(t, b, w)];
        const text = fate === "refused" ? { text: "!" } : {};
        const own = fate === "copied" ? { color } : {};
        Object.assign(out.cells[flat(t, b, w)], { letter: letterOf(color, first), ...own, fate, kinds: [fate], ...text });
      }
    }
  }
  for (const at of flats(shape)) {
    const [t, b] = coordinatesOf(at, shape);
    const by = users.get(at) ?? [];
    const names = by.map((w) => letterOf(b * W + w, first));
    const letter = by.length > MOST_BEAM_LETTERS ? `${names[0]}+${by.length - 1}` : names.join("");
    const look = by.length ? { letter } : {};
    if (by.length === 1) look.color = b * W + by[0];
    const kinds = by.length > 1 ? ["shared"] : by.length ? [] : ["unread"];
    Object.assign(steps.cells[at], look, { kinds });
    if (!t) {
      parents.cells[at].kinds = ["unread"];
      continue;
    }
    Object.assign(parents.cells[at], look, { kinds });
    if (!by.length) continue;
    const { fate } = cells[flat(t - 1, b, by[0])];
    const lost = ["filled", "refused"].includes(fate) ? { fate, kinds: [fate, ...kinds] } : {};
    Object.assign(parents.cells[at], { tail: targetOf(answered, t, b, by[0]), ...lost });
  }
  return { grids: [parents, steps, out], links, count: T * W };
}

/** Return the boxes of the cells and of the places outside in a drawing, by id. */
function boxesOf(svg) {
  const boxes = new Map();
  const box = (rect) => Object.fromEntries(["x", "y", "width", "height"].map((key) => [key, Number(rect.getAttribute(key))]));
  for (const cell of svg.querySelectorAll(".cell")) boxes.set(cell.id, box(cell.querySelector("rect")));
  for (const place of svg.querySelectorAll(".slice.outside")) boxes.set(place.id, box(place));
  return boxes;
}

const isPlace = (id) => id.startsWith("slice-outside");

/** Tell whether all cells have boxes, wide enough for their texts, and indices that point nowhere their places. */
function fitsIn(boxes, { grids, places }) {
  const cells = grids.flatMap((grid) => grid.cells);
  if (cells.length !== [...boxes.keys()].filter((id) => !isPlace(id)).length) return false;
  if (![...places].every((id) => boxes.has(id))) return false;
  return cells.every(({ id, text, tail }) => boxes.has(id) && (text + tail).length * EM + 6 <= boxes.get(id).width);
}

const bounds = (list) => {
  const [x, y] = [Math.min(...list.map((box) => box.x)), Math.min(...list.map((box) => box.y))];
  const right = Math.max(...list.map((box) => box.x + box.width));
  const bottom = Math.max(...list.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
};

const versionAt = (heading) => heading.length * 11.4 + 24;

/** Return the nodes of a text with bold parts. */
function spanned(words, spans) {
  const nodes = [];
  let end = 0;
  for (const [start, stop] of spans) {
    nodes.push(words.slice(end, start), drawn("tspan", { class: "replaced" }, words.slice(start, stop)));
    end = stop;
  }
  return [...nodes, words.slice(end)].filter(Boolean);
}

/** Break a text after blanks into lines: { words, spans }. */
function broken(words, spans, most) {
  const lines = [];
  let [start, end] = [0, 0];
  const close = () => {
    const own = spans.map((span) => span.map((at) => Math.max(start, Math.min(at, end)) - start)).filter(([a, z]) => a < z);
    lines.push({ words: words.slice(start, end).trimEnd(), spans: own });
    start = end;
  };
  for (const part of words.match(/\S+\s*/g) ?? []) {
    if (end > start && end - start + part.trimEnd().length > most) close();
    end += part.length;
  }
  close();
  return lines;
}

const WIDTHS = { heading: 11, equation: 9.7, title: 8.4, replaced: 7.8, stays: 7.1, shared: 7.1, note: 7.1, facet: 7.1 }; // of characters

/** Return a drawing of a picture with a plain layout, cells empty, and the boxes of these.
 *
 * Tensors stand beside each other with the widest space that fits the room, else below each other.
 */
function layOut(picture, room, form) {
  for (const channel of room < NARROW ? [] : CHANNELS) {
    const made = layOutIn(picture, room, { ...form, channel });
    if (Number(made.svg.getAttribute("width")) * LEAST_SCALE <= room - 8 || made.boxes.size > MOST_STACKED) return made;
  }
  return layOutIn(picture, room, { ...form, isNarrow: true });
}

function layOutIn(whole, room, { isBare, isBrief, channel, isNarrow = false }) {
  const picture = { ...whole, isTerse: whole.isTerse || (isNarrow && !isBare) };
  const margin = isNarrow ? 14 : MARGIN;
  const isDown = picture.isDown || isNarrow;
  whole.isStacked = isDown;
  const { grids, notes = {} } = picture;
  const jumps = picture.links.some(({ from, to, climbs }) => climbs || (from?.length === 1 && to?.length === 1));
  const lanes = jumps && grids.some(({ shape }) => shape.length > 1);
  const linesOf = ({ name }) => (notes[name] ?? []).filter(([, kind]) => !picture.isTerse || kind === "note");
  const head = isDown ? 0 : 30 + NOTE_HEIGHT * Math.max(0, ...grids.map((grid) => linesOf(grid).length));
  const most = isNarrow ? room - 8 - 2 * margin : Infinity;
  const longest = isNarrow ? most : (room - 8) / LEAST_SCALE - 2 * margin; // of lines
  let widths = grids.map(cellWidth);
  if (picture.isLinedUp) widths = widths.map(() => Math.max(...widths));
  const boxes = new Map();
  const texts = [];
  let y = margin;
  const write = (words, kind, height, spans = []) => {
    for (const line of broken(words, spans, Math.floor(longest / WIDTHS[kind] / BOLDER))) {
      y += height;
      texts.push([margin, y, line.words, kind, null, line.spans]);
      height = kind === "note" ? 19 : 24;
    }
  };
  if (!isBare) {
    write(picture.heading, "heading", 20);
    if (picture.version && (isNarrow ? picture.heading.length + picture.version.length < 26 : true)) {
      texts.push([margin + versionAt(picture.heading), y, picture.version, "note"]);
    } else if (picture.version) write(picture.version, "note", 22);
    write(picture.equation, "equation", 30, picture.spans);
    if (picture.isTerse) write(picture.typeWords, "note", 26);
  }
  const form = { isDown, isNarrow, lanes, head, widths, most, margin, channel, boxes, texts };
  let [left, top, right, bottom, low] = [margin, y + 34, 0, y, 0];
  for (const [n, panel] of picture.panels.entries()) {
    const before = [texts.length, new Set(boxes.keys())];
    let end = placePanel(picture, panel, left, top, form);
    if (n && isDown && !isNarrow && left > margin && end.right > room - margin) {
      // The next row of panels begins.
      texts.length = before[0];
      for (const id of boxes.keys()) if (!before[1].has(id)) boxes.delete(id);
      [left, top] = [margin, low + PANEL_SPACE];
      end = placePanel(picture, panel, left, top, form);
    }
    [right, bottom, low] = [Math.max(right, end.right), Math.max(bottom, end.bottom), Math.max(bottom, end.bottom)];
    if (isDown && !isNarrow) left = end.right + PANEL_SPACE;
    else top = end.bottom + PANEL_SPACE;
  }
  y = bottom + 14;
  if (!isBare && !(isBrief && picture.note.startsWith("shape of out"))) write(picture.note, "note", 26);
  const ends = texts.map(([at, , words, kind, anchor]) => (anchor ? 0 : at + words.length * (WIDTHS[kind] ?? 7.6)));
  const [width, height] = [Math.ceil(Math.max(right, ...ends) + margin), Math.ceil(y + margin)];
  const svg = drawn("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, width, height });
  svg.append(drawn("title", {}, picture.heading), drawn("rect", { x: 0, y: 0, width, height, class: "page" }));
  const group = drawn("g", { class: "grids" });
  for (const { cells } of grids) {
    for (const { id } of cells) group.append(drawn("g", { id, class: "cell" }, drawn("rect", { ...boxes.get(id), rx: 3 })));
  }
  svg.append(group, drawn("g", { class: "arrows" }));
  for (const [at, base, words, kind, anchor, spans] of texts) {
    svg.append(drawn("text", { x: at, y: base, class: kind, "text-anchor": anchor, "xml:space": "preserve" }, ...spanned(words, spans ?? [])));
  }
  return { svg, boxes };
}

const PANEL_SPACE = 44;

/** Lay out a panel from a corner: add its boxes and texts, and return where it ends. */
function placePanel(picture, panel, left, top, { isDown, isNarrow, lanes, head, widths, most, margin, channel, boxes, texts }) {
  const { notes, isTerse } = picture;
  const grids = picture.grids.map((grid, n) => partOf(grid, picture.leads[n], grid.name === "out" ? panel.outAt : panel.at));
  const isTree = grids.some((grid) => grid.isTree);
  const blocks = grids.map((grid, n) => blockOf(grid, picture, { isDown, lanes, head, isFirst: !n, width: widths[n], most }));
  const start = picture.isLinedUp || isTree ? Math.max(...blocks.map(({ labels }) => labels)) : null;
  const linesOf = ({ name }) => (notes[name] ?? []).filter(([, kind]) => !isTerse || kind === "note");
  const wordsOf = (grid, block) => [[block.title, "title"], ...linesOf(grid)];
  const longest = grids.flatMap((grid, n) => wordsOf(grid, blocks[n])).map(([words, kind]) => words.length * WIDTHS[kind]);
  let [x, y] = [left + (isDown && !isNarrow ? Math.max(...longest) + 24 : 0), top];
  const tallest = Math.max(...blocks.map((block) => block.height));
  const widest = Math.max(...blocks.map((block) => block.width));
  const space = isNarrow ? SPACE.narrow : SPACE.wide;
  const corners = [];
  blocks.forEach((block, n) => {
    const words = wordsOf(grids[n], block);
    const heads = n && words[0][0] ? 18 : 0; // the room for the heads of arrows below words
    if (isNarrow) y += 10 + NOTE_HEIGHT * words.length + heads;
    const [overX, overY] = [widest - block.width, tallest - block.height].map((rest) => (start === null ? rest / 2 : 0));
    const shift = start === null || !isDown ? 0 : start - block.labels;
    const across = isDown ? { x: x + overX + shift, y } : { x, y: y + overY };
    corners.push({ ...across, width: block.width, height: block.height });
    for (const [id, box] of block.boxes) boxes.set(id, { ...box, x: box.x + across.x, y: box.y + across.y });
    for (const [dx, dy, ...rest] of block.texts) texts.push([across.x + dx, across.y + dy, ...rest]);
    words.forEach(([text, kind], line) => {
      if (!text) return;
      const below = words.length - 1 - line;
      let at = [across.x, across.y + head - 16 - NOTE_HEIGHT * below];
      if (isNarrow) at = [margin, y - 8 - heads - NOTE_HEIGHT * below];
      else if (isDown) at = [left, y + block.middle + 5 + NOTE_HEIGHT * (line - (words.length - 1) / 2)];
      texts.push([...at, text, kind]);
    });
    if (isDown) y += block.height + space;
    else x += block.width + channel;
  });
  let [right, bottom] = isDown ? [x + widest, y - space] : [x - channel, y + tallest];
  if (panel.hasOutside) {
    const { cells } = grids[1];
    const data = bounds(cells.length ? cells.map(({ id }) => boxes.get(id)) : [corners[1]]);
    const box = isDown
      ? { x: data.x + data.width + 28, y: data.y, width: 80, height: data.height }
      : { x: data.x, y: data.y + data.height + 28, width: Math.max(80, data.width), height: 38 };
    boxes.set(panel.place, box);
    [right, bottom] = [Math.max(right, box.x + box.width), Math.max(bottom, box.y + box.height)];
    texts.push([box.x + box.width / 2, box.y + box.height / 2 + 5, "outside", "note", "middle"]);
  }
  return { right, bottom };
}

const isApart = (one, other) => one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y;

/** Move words that arrows cross to where none does, in their line or near it. */
function clearWords(svg, margin) {
  const numberOf = (node, name) => Number(node.getAttribute(name));
  const points = [...svg.querySelectorAll(".arrow")].flatMap((arrow) => {
    const length = arrow.getTotalLength();
    return Array.from({ length: Math.ceil(length / 3) + 1 }, (_, n) => arrow.getPointAtLength(Math.min(3 * n, length)));
  });
  const boxOfText = (text) => {
    const kind = text.classList.contains("coordinate") ? "coordinate" : text.getAttribute("class");
    const width = text.textContent.length * (WIDTHS[kind] ?? 7.6) * BOLDER + 4
    const part = { middle: 0.5, end: 1 }[text.getAttribute("text-anchor")] ?? 0;
    return { x: numberOf(text, "x") - part * width, y: numberOf(text, "y") - 13, width, height: 17 };
  };
  const texts = [...svg.querySelectorAll(".coordinate, .title, .note, .facet, .stays, .shared, text.replaced")];
  const boxes = new Map(texts.map((text) => [text, boxOfText(text)]));
  const rects = [...svg.querySelectorAll(".cell rect, .slice")].map((rect) => ({
    x: numberOf(rect, "x"), y: numberOf(rect, "y"), width: numberOf(rect, "width"), height: numberOf(rect, "height"),
  }));
  const isHit = ({ x, y, width, height }) => points.some((point) => point.x > x - 3 && point.x < x + width + 3 && point.y > y && point.y < y + height);
  const width = numberOf(svg, "width");
  for (const text of texts) {
    const box = boxes.get(text);
    if (text.classList.contains("coordinate") || text.textContent === "outside" || !isHit(box)) continue;
    const others = [...rects, ...texts.filter((each) => each !== text).map((each) => boxes.get(each))];
    const most = Math.max(box.x, width - box.x) / 6;
    const shifts = Array.from({ length: Math.ceil(most) * 2 }, (_, n) => (n % 2 ? -1 : 1) * 6 * Math.ceil((n + 1) / 2));
    const steps = [0, -10, 10, -20].flatMap((dy) => shifts.map((dx) => [dx, dy]));
    const free = steps.find(([dx, dy]) => {
      const moved = { ...box, x: box.x + dx, y: box.y + dy };
      const isInside = moved.x >= margin && moved.x + moved.width <= width - margin;
      return isInside && !isHit(moved) && others.every((each) => isApart(moved, each));
    }) ?? [width - margin - box.x, 0]; // else the drawing grows
    text.setAttribute("x", numberOf(text, "x") + free[0]);
    text.setAttribute("y", numberOf(text, "y") + free[1]);
    boxes.set(text, boxOfText(text));
  }
  const right = Math.ceil(Math.max(width, ...[...boxes.values()].map((box) => box.x + box.width + margin)));
  svg.setAttribute("viewBox", `0 0 ${right} ${svg.getAttribute("height")}`);
  for (const each of [svg, svg.querySelector(".page")]) each.setAttribute("width", right);
}

/** Return the facet, row and column of a cell; a row is that of a vector where `isRow`. */
function spotOf({ shape, isTree }, at, isRow) {
  if (isTree) return { facet: [at[1]], row: at[0], column: at[2] };
  if (shape.length > 1) return { facet: at.slice(0, -2), row: at.at(-2), column: at.at(-1) };
  return { facet: [], row: isRow ? 0 : (at[0] ?? 0), column: isRow ? at[0] : 0 };
}

const NOTE_HEIGHT = 18; // of a line below the title of a tensor

/** Return the width of the cells of a tensor, as Python has it. */
const cellWidth = ({ cells }) => Math.max(CELL.width, ...cells.map(({ text, tail }) => 2 * Math.ceil(((text + tail).length * EM) / 2 + 11)));

/** Lay out a tensor: boxes by id, texts, width and height. */
function blockOf(grid, { types, links, lead, isTerse, batches = [], fromEnd = [] }, { isDown, lanes, head, isFirst, width, most }) {
  const { name, shape, cells, isTree } = grid;
  const isRow = shape.length === 1 && isDown && cells.length * (width + CELL.gap) <= most;
  const isGrid = shape.length > 1;
  const spots = cells.map(({ at }) => spotOf(grid, at, isRow));
  const facets = [...new Map(spots.map(({ facet }) => [facet.join(","), facet])).values()];
  const [rows, columns] = ["row", "column"].map((key) => Math.max(0, ...spots.map((spot) => spot[key] + 1)));
  const hasFacets = facets.some((facet) => facet.length);
  // Coordinates on the axes that an index counts from the end have those names, too.
  const counts = (back) => name === "data" && fromEnd.includes(lead + shape.length - back);
  const [rowEnds, columnEnds] = isRow ? [false, counts(1)] : isGrid ? [counts(2), counts(1)] : [counts(1), false];
  const digits = 7.3 * String(Math.max(0, rows - 1)).length;
  const step = 7.3 * (String(rows).length + 1) + 6;
  const [hasLanes, hasLinks] = [lanes && isGrid, links.length > 0];
  const before = isDown && isGrid && hasLinks ? 22 : 0;
  const lane = hasLanes && !isDown ? 22 : 0;
  const gapX = hasLanes && isDown ? CELL.lane : CELL.gap;
  const gapY = hasLanes && (!isDown || isTree) ? CELL.lane + (isTree ? 8 : 0) : CELL.gap;
  const labels = 8 + before + (isRow || !shape.length ? 0 : digits + (rowEnds ? step : 0));
  const title = isTree && cells.length ? "" : (grid.words ?? (isTerse ? name : `${name} ${types[name] ?? ""}`.trim()));
  const above = (isTree ? 46 : hasFacets ? 22 : 0) * (cells.length > 0);
  const top = (isGrid || isRow ? 20 + 15 * columnEnds : 0) + above + lane;
  const [wide, high] = [labels + columns * (width + gapX) - gapX, top + rows * (CELL.height + gapY) - gapY];
  const cornerOf = (n) => (isDown ? [n * (Math.max(wide, isTree ? 190 : 90) + 36), 0] : [0, head * !isTree + n * (high + 18)]);
  const [boxes, texts] = [new Map(), []];
  const [xOf, yOf] = [(column) => labels + column * (width + gapX), (row) => top + row * (CELL.height + gapY)];
  facets.forEach((facet, n) => {
    const [x, y] = cornerOf(n);
    if (isTree) {
      if (isFirst && batches[facet[0]]) texts.push([x, y + 12, batches[facet[0]], "note"]);
      texts.push([x, y + 34, `${name}[:,${facet[0]},:]`, "title"]);
    } else if (hasFacets) texts.push([x + labels, y + 10, `[${[...(grid.before ?? []), ...facet, ":", ":"].join(",")}]`, "facet"]);
    for (let c = 0; c < columns && (isGrid || isRow); c++) {
      const [middle, base] = [x + xOf(c) + width / 2, y + top - 7 - lane];
      texts.push([middle, base, String(c), "coordinate", "middle"]);
      if (columnEnds) texts.push([middle, base - 15, String(c - columns), "coordinate from-end", "middle"]);
    }
    for (let r = 0; r < rows && shape.length && !isRow; r++) {
      const [end, base] = [x + labels - 8 - before, y + yOf(r) + 23];
      texts.push([end, base, String(r), "coordinate", "end"]);
      if (rowEnds) texts.push([end - digits - 6, base, String(r - rows), "coordinate from-end", "end"]);
    }
  });
  spots.forEach(({ facet, row, column }, flat) => {
    const [x, y] = cornerOf(facets.findIndex((each) => each.join() === facet.join()));
    boxes.set(cells[flat].id, { x: x + xOf(column), y: y + yOf(row), width, height: CELL.height });
  });
  if (!cells.length) texts.push([0, isDown ? 24 : head + 24, "empty: no elements", "note"]);
  const [x, y] = cornerOf(Math.max(0, facets.length - 1));
  const least = cells.length ? 0 : 150;
  return {
    boxes,
    texts,
    title,
    labels,
    middle: cells.length ? top + (high - top) / 2 : 20,
    width: Math.max(x + wide, isDown ? 0 : title.length * 8.4, least),
    height: Math.max(y + high, cells.length ? 0 : 68),
  };
}

/** Move the words beside the tensors of a drawing, if it is wider than the room, below them. */
function narrow(svg, room) {
  const numberOf = (node, name) => Number(node.getAttribute(name));
  const shape = [...svg.querySelectorAll(".note")].find((each) => each.textContent.startsWith("shape of out"));
  if (numberOf(svg, "width") <= room || !svg.getAttribute("viewBox").startsWith("0 0 ")) return;
  const lines = [...svg.querySelectorAll("text")].filter((each) => shape && numberOf(each, "x") === numberOf(shape, "x"));
  const lengthOf = (each) => each.textContent.length * (WIDTHS[each.getAttribute("class")] ?? 7.3);
  const ends = [];
  for (const each of svg.querySelectorAll("rect:not(.page)")) ends.push([numberOf(each, "x") + numberOf(each, "width"), numberOf(each, "y") + numberOf(each, "height")]);
  for (const each of svg.querySelectorAll("text")) {
    if (!lines.includes(each) && !each.closest(".cell, .plain") && !each.hasAttribute("text-anchor")) ends.push([numberOf(each, "x") + lengthOf(each), numberOf(each, "y")]);
  }
  const [right, bottom] = [0, 1].map((n) => Math.max(...ends.map((end) => end[n])));
  if (shape && numberOf(shape, "x") < right) return;
  lines.forEach((each, n) => {
    each.setAttribute("x", MARGIN);
    each.setAttribute("y", bottom + 34 + 21 * n);
  });
  const width = Math.ceil(Math.max(right, ...lines.map((each) => MARGIN + lengthOf(each))) + MARGIN);
  const height = Math.ceil(bottom + MARGIN + 21 * lines.length);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  for (const [name, size] of Object.entries({ width, height })) {
    svg.setAttribute(name, size);
    svg.querySelector(".page")?.setAttribute(name, size);
  }
}

/** Complete a drawing that has the outlines of its cells alone. */
function complete(svg, picture, content) {
  const [boxes, plain] = [new Map(), svg.querySelector(".plain")];
  const group = svg.querySelector(".grids");
  for (const outlines of plain.querySelectorAll(".outlines")) {
    const { cells } = picture.grids.find(({ name }) => name === outlines.dataset.tensor);
    const found = outlines.getAttribute("d").matchAll(/M(\S+) (\S+?)h([\d.]+)v([\d.]+)/g);
    for (const [n, [, ...sizes]] of [...found].entries()) {
      const [x, y, width, height] = sizes.map(Number);
      boxes.set(cells[n].id, { x, y, width, height });
      group.append(drawn("g", { id: cells[n].id, class: "cell" }, drawn("rect", { x, y, width, height, rx: 3 })));
    }
  }
  plain.remove();
  paintCells(svg, picture, boxes, content);
}

function paintCells(svg, picture, boxes, { colors }) {
  const colorOf = (color) => (color === null || color === undefined || color >= colors ? [] : [`c${color}`]);
  const groups = new Map([...svg.querySelectorAll(".cell")].map((each) => [each.id, each]));
  for (const { cells } of picture.grids) {
    for (const cell of cells) {
      const group = groups.get(cell.id);
      const box = boxes.get(cell.id);
      group.setAttribute("class", ["cell", ...cell.kinds, ...colorOf(cell.color)].join(" "));
      const rect = group.querySelector("rect");
      const value = cell.text + cell.tail;
      const room = (box.width - value.length * EM) / 2;
      const isAbove = cell.letter && cell.letter.length * LETTER_EM + 3.7 > room; // letters stand above the value
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2 + (isAbove ? 9 : 7)];
      const parts = [rect];
      if (cell.fate && cell.fate !== "copied") parts.push(drawn("path", { d: hatch(box), class: "hatch" }));
      else if (cell.color >= PLAIN_HUES && cell.color < colors) {
        parts.push(drawn("path", { d: `M${box.x + 3} ${box.y + box.height / 2}h${box.width - 6}`, class: "stripes" }));
      }
      parts.push(drawn("text", { x, y }, value));
      if (cell.letter) {
        const at = { x: box.x + 4 + (cell.letter.length * LETTER_EM) / 2, y: box.y + (isAbove ? 11 : 12) };
        parts.push(drawn("text", { ...at, class: "letter" }, cell.letter));
      }
      group.replaceChildren(...parts);
    }
  }
}

/** Paint a picture over a layout: cells, then slices and arrows of all indices, if these are few. */
function paint(svg, picture, boxes, content, isKept) {
  paintCells(svg, picture, boxes, content);
  for (const each of svg.querySelectorAll(".coordinate")) each.setAttribute("class", "coordinate");
  const words = [...svg.querySelectorAll(".note")].filter((each) => each.textContent === "outside");
  for (const [n, place] of [...svg.querySelectorAll(".slice.outside")].entries()) {
    if (picture.places.has(place.id)) continue;
    place.remove();
    words[n]?.remove();
    boxes.delete(place.id);
  }
  for (const id of picture.places) {
    if (!boxes.has(id) || svg.getElementById?.(id) || svg.querySelector(`#${id}`)) continue;
    svg.querySelector(".grids").append(drawn("rect", { ...boxes.get(id), rx: 5, id, class: "slice outside", "data-tensor": "outside", "data-at": "" }));
  }
  const notes = [...svg.querySelectorAll(".note")];
  for (const each of notes) if (/^(arrows for |same letter)/.test(each.textContent)) each.remove();
  for (const each of svg.querySelectorAll(".step")) each.remove();
  if (isKept) caption(svg, picture, notes);
  svg.querySelector("title").textContent = `${picture.heading}: ${picture.equation}`;
  connect(svg, picture, boxes, content, picture.count <= MOST_ARROWS ? picture.links : []);
}

/** Write the words of a picture in place of those of the drawing that Python made. */
function caption(svg, picture, notes) {
  const heading = svg.querySelector(".heading");
  if (heading) {
    const small = notes.find((each) => each.getAttribute("y") === heading.getAttribute("y"));
    heading.textContent = picture.heading;
    if (small) {
      small.textContent = picture.version;
      small.setAttribute("x", Number(heading.getAttribute("x")) + versionAt(picture.heading));
    }
  }
  svg.querySelector(".equation")?.replaceChildren(...spanned(picture.equation, picture.spans));
  for (const each of notes) {
    if (each.textContent.startsWith("shape of out")) each.textContent = picture.note;
    const [, batch] = /^batch (\d+): max_seq_len/.exec(each.textContent) ?? [];
    if (batch && picture.batches[batch]) each.textContent = picture.batches[batch];
  }
}

/** Paint the slices and arrows of some links in place of others. */
function connect(svg, picture, boxes, { colors }, links) {
  const colorOf = (color) => (color === null || color === undefined || color >= colors ? [] : [`c${color}`]);
  for (const old of svg.querySelectorAll(".slice:not(.outside), .arrow")) old.remove();
  const facets = facetsOf(picture, boxes, leadsOf(svg));
  const labels = labelsOf(svg);
  const slices = new Map();
  const arrows = svg.querySelector(".arrows");
  const lanes = new Lanes();
  for (const link of links) {
    const kinds = [...link.kinds, ...colorOf(link.color)];
    const ends = [link.from, link.to].map((ids) => partsOf(ids, boxes, facets, link.place, picture.isStacked));
    if (!link.climbs && ends.every((parts) => parts.length)) {
      const isDown = flowsDown(ends[0][0], ends[1][0]);
      for (const part of ends[0]) if (part.isSlice) enclose(part, labels, isDown);
      for (const part of ends[1]) if (part.isSlice || part.isVector) enclose(part, labels, isDown);
    }
    for (const part of ends.flat()) {
      if (!part.isSlice || slices.has(part.id)) continue;
      slices.set(part.id, drawn("rect", { ...part.box, rx: 5, id: part.id,
        class: ["slice", ...link.kinds.slice(1), ...colorOf(link.color)].join(" "), "data-tensor": part.tensor, "data-cells": part.ids.join(" ") }));
    }
    const [from, to] = ends;
    for (let each = 0; each < Math.max(from.length, to.length); each++) {
      const [start, end] = [from[each % from.length], to[each % to.length]];
      if (!start || !end) continue;
      const d = link.climbs ? climb(start.box, end.box, link.lane) : route(start, end, lanes);
      arrows.append(drawn("path", { d, class: ["arrow", ...kinds].join(" "), "data-from": start.id, "data-to": end.id }));
    }
  }
  svg.querySelector(".grids").prepend(...slices.values());
}

const flowsDown = (from, to) => to.isBelow || from.frame.x + from.frame.width > to.frame.x;

/** Return the boxes of the coordinates beside the cells of a drawing. */
function labelsOf(svg) {
  return [...svg.querySelectorAll(".coordinate")].map((each) => {
    const width = each.textContent.length * 7.3;
    const part = { start: 0, middle: 0.5, end: 1 }[each.getAttribute("text-anchor") ?? "start"];
    const [x, y] = ["x", "y"].map((key) => Number(each.getAttribute(key)));
    return { x: x - part * width - 5, y: y - 11, width: width + 5, height: 13 };
  });
}

/** Make a part a slice, with the coordinates by which arrows come in. */
function enclose(part, labels, isDown) {
  const { box, frame } = part;
  const own = labels.filter((each) => {
    const [x, y] = [each.x + each.width / 2, each.y + 6];
    if (isDown) return x > box.x && x < box.x + box.width && y < frame.y && y > frame.y - 34 && box.y <= frame.y + 1;
    return y > box.y && y < box.y + box.height && x < frame.x && x > frame.x - 90 && box.x <= frame.x + 1;
  });
  part.box = grown(bounds([box, ...own]), 3);
  part.frame = bounds([part.box, frame]);
  part.isSlice = true;
  part.id = part.id.startsWith("slice") ? part.id : `slice-${part.id}`;
}

const grown = ({ x, y, width, height }, by) => ({ x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by });

/** Return how many coordinates of the tensors are of batches that a drawing has apart: `data[0,:]`. */
function leadsOf(svg) {
  const titles = [...svg.querySelectorAll(".title")].map((each) => /^(\w+)\[((?:\d+,)*\d+)(?:,:)*\]/.exec(each.textContent));
  return new Map(titles.filter(Boolean).map(([, name, at]) => [name, at.split(",").length]));
}

/** Return the facet of each cell, by id: its tensor, leading coordinates and the box of all cells. */
function facetsOf({ grids }, boxes, leads) {
  const byCell = new Map();
  for (const grid of grids) {
    const [{ name, cells }, groups] = [grid, new Map()];
    const lead = leads.get(name) ?? 0;
    for (const cell of cells) {
      const key = [...cell.at.slice(0, lead), "", ...spotOf(grid, cell.at).facet].join(",");
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(cell.id);
    }
    for (const [key, ids] of groups) {
      const facet = { tensor: name, isVector: grid.shape.length - lead < 2, box: bounds(ids.map((id) => boxes.get(id))) };
      for (const id of ids) byCell.set(id, facet);
    }
  }
  return byCell;
}

/** Return the parts of a tensor that cells make up, one a facet; null is a place outside. */
function partsOf(ids, boxes, facets, place, isBelow) {
  if (ids === null) {
    const box = boxes.get(place);
    return box ? [{ id: place, ids: [place], box, frame: box, isPlace: true, isBelow }] : [];
  }
  const groups = new Map();
  for (const id of ids) {
    const facet = facets.get(id);
    if (!groups.has(facet)) groups.set(facet, []);
    groups.get(facet).push(id);
  }
  return [...groups].map(([facet, own]) => ({
    id: own.length === 1 ? own[0] : `slice-${own[0]}--${own.at(-1)}`,
    ids: own,
    tensor: facet.tensor,
    isSlice: own.length > 1,
    isVector: facet.isVector,
    box: bounds(own.map((id) => boxes.get(id))),
    frame: facet.box,
  }));
}

const turned = ({ x, y, width, height }) => ({ x: y, y: x, width: height, height: width });

/** The lines that run between cells: those in one space lie apart, and of one cell on each other. */
class Lanes {
  constructor() {
    this.spaces = new Map();
  }

  /** Return how far a line of a cell lies from the first in its space. */
  shift(space, at) {
    if (!this.spaces.has(space)) this.spaces.set(space, []);
    const uses = this.spaces.get(space);
    if (!uses.includes(at)) uses.push(at);
    return (uses.indexOf(at) % 4) * 3.5;
  }
}

/** Return the path of an arrow, which runs between cells, not over them; to the right, or down. */
function route(from, to, lanes) {
  const isDown = flowsDown(from, to);
  const turn = (part) => (isDown ? { ...part, box: turned(part.box), frame: turned(part.frame) } : part);
  const [a, z] = [turn(from), turn(to)];
  const lines = [];
  const reaches = (part, side) => (side === "end" ? part.box.x + part.box.width >= part.frame.x + part.frame.width - 1 : part.box.x <= part.frame.x + 1);
  const middle = ({ y, height }) => y + height / 2;
  let out;
  if (reaches(a, "end")) {
    out = [a.box.x + a.box.width, middle(a.box)];
    lines.push(out);
  } else {
    const [x, y] = [a.box.x + a.box.width * 0.72, a.box.y + a.box.height];
    const level = y + 4 + lanes.shift(`out ${a.frame.x} ${y}`, x);
    out = [a.frame.x + a.frame.width + 4, level];
    lines.push([x, y], [x, level], out);
  }
  let into;
  const end = [];
  if ((z.isSlice || z.isPlace) && reaches(z, "start")) {
    const tip = [z.box.x, middle(z.box)];
    into = [tip[0] - 14, tip[1]];
    end.push(tip);
  } else {
    const [x, y] = [z.box.x + z.box.width * 0.28, z.box.y];
    const level = y - 9 - lanes.shift(`in ${z.frame.x} ${y}`, x);
    into = [z.frame.x - 22, level];
    end.push([x, level], [x, y]);
  }
  const reach = Math.max(14, (into[0] - out[0]) / 2);
  const point = ([x, y]) => (isDown ? [y, x] : [x, y]).map((each) => Math.round(each * 10) / 10).join(" ");
  const curve = `C${point([out[0] + reach, out[1]])} ${point([into[0] - reach, into[1]])} ${point(into)}`;
  const before = end.length > 1 ? end.at(-2) : into;
  return `M${lines.map(point).join("L")}${curve}L${end.map(point).join("L")}${head(before, end.at(-1), point)}`;
}

function head(before, tip, point) {
  const length = Math.hypot(tip[0] - before[0], tip[1] - before[1]) || 1;
  const [dx, dy] = [(6.5 * (tip[0] - before[0])) / length, (6.5 * (tip[1] - before[1])) / length];
  const side = (way) => point([tip[0] - dx + way * 0.75 * dy, tip[1] - dy - way * 0.75 * dx]);
  return `M${side(1)}L${point(tip)}L${side(-1)}`;
}

/** Return the path of an arrow from the upper edge of a cell to the lower edge of another. */
function climb(from, to, lane) {
  const point = (pair) => pair.map((each) => Math.round(each * 10) / 10).join(" ");
  const [start, end] = [from, to].map(({ x, width }) => x + width / 2 + (lane - 0.5) * 12);
  const bottom = to.y + to.height;
  const level = from.y - (from.y - bottom) * (0.2 + 0.5 * lane);
  const way = start === end ? [[start, from.y], [end, bottom]] : [[start, from.y], [start, level], [end, level], [end, bottom]];
  return `M${way.map(point).join("L")}${head([end, from.y], [end, bottom], point)}`;
}

/** Return the path data of diagonal lines in a box. */
function hatch({ x, y, width, height }, step = 7) {
  let d = "";
  for (let offset = step; offset < width + height; offset += step) {
    const [dx, dy] = [Math.min(offset, width), Math.max(0, offset - width)];
    const left = Math.max(0, offset - height);
    d += `M${x + dx} ${y + dy}L${x + left} ${y + offset - left}`;
  }
  return d;
}
