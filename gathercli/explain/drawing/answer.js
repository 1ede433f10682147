// Answer a call: the rules of its operator version, the shape, and the source of each output cell.
//
// A row says what a version takes, and `model.rules` which rules its operator checks, in their
// order; both are generated from the declarations of the operators. A call is
// { inputs: [{ shape, values }], attrs }, whose values are texts, row-major, and whose attributes
// are integers, or null where none is given. Without values only the shape is answered.

const total = (sizes) => sizes.reduce((product, size) => product * size, 1);

/** Return the coordinates of a flat position, row-major. */
function coordinatesOf(flat, shape) {
  const at = Array(shape.length);
  for (let d = shape.length - 1, rest = flat; d >= 0; d--) {
    at[d] = rest % shape[d];
    rest = Math.floor(rest / shape[d]);
  }
  return at;
}

const flats = (shape) => Array.from({ length: total(shape) }, (_, flat) => flat);
const flatOf = (at, shape) => at.reduce((flat, n, d) => flat * shape[d] + n, 0);

/** Return the inputs and attributes that a framework's call gathers with. */
function adapted({ adapts: how, attrs: defaults }, { inputs, attrs }) {
  if (!how) return { inputs, attrs };
  const made = inputs.map((input) => ({ ...input }));
  const [data, indices] = made;
  const lacksAxis = attrs.axis === null;
  if (how.flattens && lacksAxis) data.shape = [total(data.shape)];
  if (how.scalars.includes("data") && !data.shape.length) data.shape = [1];
  if (how.scalars.includes("indices") && !indices.shape.length) indices.shape = [1];
  const takesBatch = lacksAxis && (how.flattens || how.axis_of_batch);
  const axis = takesBatch ? (attrs.batch_dims ?? 0) : (attrs.axis ?? defaults.axis ?? null);
  const rank = data.shape.length;
  if (how.broadcasts && axis !== null && rank === indices.shape.length) {
    const along = rank ? ((axis % rank) + rank) % rank : -1;
    const sizes = data.shape.map((size, d) => [size, indices.shape[d]]);
    const wide = (own, other) => (d) => (d !== along && sizes[d][own] === 1 ? sizes[d][other] : sizes[d][own]);
    repeat(data, sizes.map((_, d) => wide(0, 1)(d)));
    repeat(indices, sizes.map((_, d) => wide(1, 0)(d)));
  }
  return { inputs: made, attrs: { ...attrs, axis } };
}

/** Repeat the dimensions of size 1 of an input. */
function repeat(input, shape) {
  const { shape: from, values } = input;
  input.shape = shape;
  if (!values || from.every((size, d) => size === shape[d])) return;
  input.values = Array.from({ length: total(shape) }, (_, flat) => {
    const at = coordinatesOf(flat, shape).map((n, d) => (from[d] === 1 ? 0 : n));
    return values[flatOf(at, from)];
  });
}

const interval = (low, high) => (low > high ? "none" : `${low} to ${high}`);
const outsideWords = (wraps, size) => (size ? `outside ${interval(wraps ? -size : 0, size - 1)}` : "the axis is empty");
const sized = (shape) => `[${shape.join(",")}]`;

/** Each rule by its name: why it refuses a call, or nothing. */
const RULES = {
  "data-dtype": ({ takes }) => !takes[0] && "the element type of data is none of the version's",
  "indices-dtype": ({ takes }) => !takes[1] && "the element type of indices is none of the version's",
  "tree-dtype": ({ takes }) => !takes.every(Boolean) && "the inputs are not numbers of one type",
  "call-rank": ({ row, D, I, axis, b }) => {
    const limits = [
      ["the rank of data", D.length, row.least_rank, row.most_rank],
      ["the rank of indices", I.length, row.least_index_rank, row.most_index_rank],
      ["batch_dims", b, 0, row.most_batch_dims],
      ["axis", axis, row.only_axis, row.only_axis],
    ];
    for (const [what, number, least, most] of limits) {
      if (number === null || (number >= (least || number) && number <= (most ?? number))) continue;
      return `${what} is ${number}, expected ${least === most ? most : least ? `${least} or more` : `${most} or less`}`;
    }
    const count = row.tuples ? I.slice(0, -1) : I;
    if (!row.full || count.includes(0)) return "";
    const isIndexed = (d) => (row.tuples && I.length ? d >= b && d < b + I.at(-1) : d === axis);
    const d = D.findIndex((size, n) => !size && (row.full === "data" || isIndexed(n)));
    return d >= 0 && `data has no elements on axis ${d}`;
  },
  "data-rank": ({ D }) => !D.length && "data is 0-D, so it has no axis",
  "indices-rank": ({ row, D, I }) => {
    if (row.tuples) return !I.length && "indices is 0-D, but a tuple is 1-D";
    return (!I.length || I.length !== D.length) && `indices has rank ${I.length}, expected ${D.length}, that of data`;
  },
  "axis-unsupported": ({ attrs }) => attrs.axis !== null && `axis is ${attrs.axis}, but the version has no axis`,
  "axis-required": ({ attrs }) => attrs.axis === null && "the version requires an axis",
  "axis-type": () => "",
  "axis-range": ({ attrs, D }) =>
    (attrs.axis < -D.length || attrs.axis >= D.length) &&
    `axis is ${attrs.axis}, but data has rank ${D.length}, expected ${interval(-D.length, D.length - 1)}`,
  "batch-dims-unsupported": ({ row, attrs }) =>
    !("batch_dims" in row.attrs) && attrs.batch_dims !== 0 &&
    `batch_dims is ${attrs.batch_dims}, but the version has no batch_dims`,
  "batch-dims-range": ({ row, attrs: { batch_dims: number }, D, I }) => {
    const [low, high] = row.tuples ? [0, Math.min(D.length, I.length) - 1] : [-I.length, I.length];
    return (number < low || number > high) && `batch_dims is ${number}, expected ${interval(low, high)}`;
  },
  "batch-dims-axis": ({ attrs, axis, b }) =>
    b > axis && `batch_dims is ${attrs.batch_dims}, but axis is ${attrs.axis}, expected ${interval(0, axis)}`,
  "indices-depth": ({ row, D, I, b }) => {
    const [k, least, most] = [I.at(-1), row.shortest_tuple, D.length - b];
    return (k < least || k > most) && `the tuples have length ${k}, expected ${interval(least, most)}`;
  },
  "batch-shape": ({ D, I, b }) => {
    const d = D.slice(0, b).findIndex((size, n) => size !== I[n]);
    return d >= 0 && `batch dimension ${d} is ${D[d]} in data and ${I[d]} in indices`;
  },
  "elements-shape": ({ row, D, I, axis }) => {
    if (!row.off_axis) return "";
    const fits = (size, most) => (row.off_axis === "EQUAL" ? size === most : size <= most);
    const d = D.findIndex((size, n) => n !== axis && !fits(I[n], size));
    return d >= 0 && `dimension ${d} of indices is ${I[d]}, but that of data is ${D[d]}`;
  },
  "tree-shape": ({ row, shapes }) => {
    const wrong = shapes.findIndex((shape, n) => shape.length !== [3, 3, 1, 0][n]);
    if (wrong >= 0) return `${row.inputs[wrong]} has rank ${shapes[wrong].length}, expected ${[3, 3, 1, 0][wrong]}`;
    const [steps, parents, lengths] = shapes;
    if (steps.some((size, d) => size !== parents[d])) return `step_ids is ${sized(steps)}, but parent_ids ${sized(parents)}`;
    return steps[1] !== lengths[0] && `there are ${steps[1]} batches, but max_seq_len has ${lengths[0]}`;
  },
};

/** How each operator computes: its shape, and the index and source of an output cell. */
const OPERATORS = {
  gather: {
    shape: ({ D, I, axis, b }) => [...D.slice(0, axis), ...I.slice(b), ...D.slice(axis + 1)],
    axes: ({ axis }) => [axis],
    cell: ({ I, axis, b }, out) => {
      const m = I.length - b;
      const [p, i, s] = [out.slice(0, axis), out.slice(axis, axis + m), out.slice(axis + m)];
      return { index: [...p.slice(0, b), ...i], source: (k) => [...p, ...k, ...s] };
    },
  },
  "gather-elements": {
    shape: ({ I }) => I,
    axes: ({ axis }) => [axis],
    cell: ({ axis }, out) => ({ index: out, source: (k) => [...out.slice(0, axis), ...k, ...out.slice(axis + 1)] }),
  },
  "gather-nd": {
    shape: ({ D, I, b }) => [...I.slice(0, -1), ...D.slice(b + I.at(-1))],
    axes: ({ I, b }) => Array.from({ length: I.at(-1) }, (_, j) => b + j),
    cell: ({ I, b }, out) => {
      const lead = out.slice(0, I.length - 1);
      return { index: lead, source: (k) => [...out.slice(0, b), ...k, ...out.slice(I.length - 1)] };
    },
  },
};

/** Return what becomes of index values: `positionOf(k, size)`, a position, or -1; and the words. */
function policyOf(row, { negative, out_of_range: chosen }) {
  const isSigned = row.index_range === "SIGNED";
  const wraps = negative === "spec" ? isSigned : negative === "wrap";
  const outside = chosen === "spec" ? row.out_of_range.toLowerCase() : chosen;
  const fills = ["zero", "nan", "extreme"].includes(outside);
  const refusesNegative = negative === "error";
  const done = { zero: "zero-filled", nan: "filled with NaN", extreme: "filled", clamp: "clamped", wrap: "wrapped" };
  const positionOf = (k, size) => {
    const s = BigInt(size);
    if (refusesNegative && k < 0n) return -1;
    const at = wraps && k < 0n ? k + s : k;
    if (at >= 0n && at < s) return Number(at);
    if (outside === "wrap" && size) return Number(((k % s) + s) % s);
    if (outside === "clamp" && size) return at < 0n ? 0 : size - 1;
    return -1;
  };
  /** Say how an index came to its position, or why it has none. */
  const wordsOf = (k, size) => {
    const at = positionOf(k, size);
    if (at < 0 && refusesNegative && k < 0n) return "refused: it is negative";
    if (at < 0 && !fills) return `refused: ${outsideWords(wraps, size)}`;
    if (at < 0) return done[outside];
    if (BigInt(at) === k) return "a position";
    return wraps && k < 0n && k + BigInt(size) === BigInt(at) ? "counted from the end" : done[outside];
  };
  return { wraps, outside, fills, refusesNegative, positionOf, wordsOf };
}

/** Bind a call to a version: what the rules read, and the first rule that refuses, if any. */
function bound(model, row, call) {
  const { inputs, attrs: given } = adapted(row, call);
  const attrs = { axis: null, batch_dims: 0 };
  for (const name of Object.keys(attrs)) attrs[name] = given[name] ?? row.attrs[name] ?? attrs[name];
  const shapes = inputs.map(({ shape }) => shape);
  const [D, I] = shapes;
  const fromFront = (number, rank) => (number !== null && number < 0 ? number + rank : number);
  const [axis, b] = [fromFront(attrs.axis, D.length), fromFront(attrs.batch_dims, I.length)];
  const made = { row, inputs, shapes, D, I, attrs, axis, b, takes: row.takes, policy: policyOf(row, model) };
  for (const rule of model.rules) {
    const why = RULES[rule](made);
    if (why) return { ...made, rule, why };
  }
  return made;
}

/** Return the answer of a version to a call.
 *
 * It has the output's `shape`, that with batches apart (`panel`), its `cells`, row-major, and the
 * `rule` that refuses and `why`, if one does; of one that refuses the call there is no shape. A
 * cell has `index`, flat in the indices, `source`, flat in the data or -1, and `fate`; the `picks`
 * have the `numbers` of each index, and the `positions` of these on the `axes`, -1 for none.
 */
function answer(model, row, call) {
  const made = bound(model, row, call);
  if (made.rule) return made;
  return model.family === "gather-tree" ? answerTree(made) : answerGather(model, made);
}

/** Return the text of an output cell; nothing for one that is refused. */
function textOf(model, { inputs, policy }, { source, fate }) {
  if (source >= 0) return inputs[0].values[source];
  if (fate === "filled") return model.fills[policy.outside];
  return fate === "refused" ? "" : inputs.at(-1).values[0];
}

function answerGather(model, made) {
  const { row, inputs, D, I, b, policy } = made;
  const operator = OPERATORS[model.family];
  const panel = operator.shape(made);
  const shape = row.flattens_batch && b > 1 ? [total(panel.slice(0, b)), ...panel.slice(b)] : panel;
  const axes = operator.axes(made);
  const k = row.tuples ? axes.length : 1;
  const indexShape = row.tuples ? I.slice(0, -1) : I;
  const answered = { ...made, shape, panel, axes, indexShape, k };
  const values = inputs[1].values;
  if (!values) return answered;
  const indices = values.map(BigInt);
  const positions = indices.map((value, n) => policy.positionOf(value, D[axes[n % k]]));
  if (row.checks_empty || !shape.includes(0)) Object.assign(answered, refusalOf(made, indices, I, (n) => axes[n % k]));
  const picks = Array.from({ length: total(indexShape) }, (_, at) => {
    const [numbers, own] = [indices, positions].map((all) => all.slice(at * k, at * k + k));
    if (!own.some((each) => each < 0)) return { numbers, positions: own, fate: "copied" };
    const fills = policy.fills && !(policy.refusesNegative && numbers.some((each) => each < 0n));
    return { numbers, positions: own, fate: fills ? "filled" : "refused" };
  });
  const cells = Array.from({ length: total(panel) }, (_, flat) => {
    const { index, source } = operator.cell(made, coordinatesOf(flat, panel));
    const at = flatOf(index, indexShape);
    const { positions: own, fate } = picks[at];
    return { index: at, source: fate === "copied" ? flatOf(source(own), D) : -1, fate };
  });
  return { ...answered, cells, picks };
}

/** Return the rule that refuses the first of some indices, and why; nothing if none does. */
function refusalOf({ row, policy, D }, indices, shape, axisOf, isUsed = () => true) {
  const first = (refuses) => indices.findIndex((k, n) => isUsed(n) && refuses(k, n));
  const name = row.inputs[1];
  const where = (n) => `index ${indices[n]} at ${name}${sized(coordinatesOf(n, shape))}`;
  const negative = policy.refusesNegative ? first((k) => k < 0n) : -1;
  if (negative >= 0) return { rule: "index-negative", why: `${where(negative)} is negative` };
  const refuses = ["error", "undefined"].includes(policy.outside);
  const at = first((k, n) => {
    const size = BigInt(D[axisOf(n)]);
    const from = policy.wraps ? -size : 0n;
    return (k < from || k >= size) && (refuses || (!size && !policy.fills));
  });
  if (at < 0) return {};
  const rule = policy.outside === "undefined" ? "index-undefined" : "index-range";
  const [axis, size] = [axisOf(at), D[axisOf(at)]];
  const legal = size ? `, expected ${policy.wraps ? -size : 0} to ${size - 1}` : "";
  return { rule, why: `${where(at)} is outside axis ${axis} of ${row.inputs[0]}, whose size is ${size}${legal}` };
}

/** Follow every beam back from its last step. */
function answerTree(made) {
  const { row, inputs, policy } = made;
  const shape = inputs[0].shape;
  const [T, B, W] = shape;
  for (const [n, { values, shape: own }] of inputs.entries()) {
    const at = values?.findIndex((value) => !Number.isInteger(Number(value))) ?? -1;
    const where = `${row.inputs[n]}${own.length && at >= 0 ? sized(coordinatesOf(at, own)) : ""}`;
    if (at >= 0) return { ...made, shape: undefined, rule: "integer-values", why: `${where} is ${values[at]}, no integer` };
  }
  const answered = { ...made, shape, panel: shape, axes: [2], indexShape: shape, k: 1 };
  if (!inputs[0].values) return answered;
  const whole = (text) => (/^[-+]?\d+$/.test(text) ? BigInt(text) : BigInt(Number(text)));
  const [steps, parents, lengths, [end]] = inputs.map(({ values }) => values.map(whole));
  const last = lengths.map((n) => (n < 0n ? 0 : n > BigInt(T) ? T : Number(n)));
  const used = new Set();
  const cells = Array(T * B * W);
  const flat = (t, b, w) => (t * B + b) * W + w;
  for (let b = 0; b < B; b++) {
    for (let w = 0; w < W; w++) {
      let [beam, lost, ended, before] = [w, "", T, -1];
      for (let t = T - 1; t >= 0; t--) {
        const cell = { index: before, source: -1, fate: lost, beam: -1 };
        cells[flat(t, b, w)] = cell;
        if (t >= last[b]) cell.fate = "beyond";
        if (lost) before = -1;
        if (t >= last[b] || lost) continue;
        const at = flat(t, b, beam);
        Object.assign(cell, { source: at, fate: "copied", beam });
        if (steps[at] === end) ended = t;
        before = at;
        if (!t) continue;
        used.add(at);
        beam = policy.positionOf(parents[at], W);
        const negative = parents[at] < 0n && policy.refusesNegative;
        if (beam < 0) lost = negative || policy.outside === "error" ? "refused" : "filled";
      }
      for (let t = ended + 1; t < last[b]; t++) Object.assign(cells[flat(t, b, w)], { fate: "ended", source: -1 });
    }
  }
  const checked = row.checks_empty || !shape.includes(0);
  const refused = checked ? refusalOf({ ...made, D: shape }, parents, shape, () => 2, (n) => used.has(n)) : {};
  return { ...answered, ...refused, cells, last, used };
}
