// The words of a trace, as the command writes them, and calls as text.

const named = (tensor, at) => (at.length ? `${tensor}[${at.join(",")}]` : tensor);
const lettersOf = (name, count) => (count === 1 ? [name] : Array.from({ length: count }, (_, n) => `${name}${n}`));
const listed = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);
const NOWHERE = { filled: "none", refused: "refused" };
const FILLINGS = { zero: "zeros", nan: "NaN", extreme: "NaN or an extreme" };

/** Return the equation of an output cell, with the coordinates of a call. */
function equationOf(model, { row, D, I, axis, b }) {
  const cell = (tensor, words) => (words.length ? `${tensor}[${words.join(", ")}]` : tensor);
  if (model.family === "gather-tree") return row.equation;
  if (model.family === "gather-elements") {
    const c = D.length <= 6 ? [..."ijklmn"].slice(0, D.length) : lettersOf("c", D.length);
    const picked = [...c.slice(0, axis), cell("indices", c), ...c.slice(axis + 1)];
    return `${cell("out", c)} = ${cell("data", picked)}`;
  }
  if (model.family === "gather") {
    const counts = [axis, I.length - b, D.length - 1 - axis];
    const [p, i, s] = ["p", "i", "s"].map((name, n) => lettersOf(name, counts[n]));
    const index = cell("indices", [...p.slice(0, b), ...i]);
    return `${cell("out", [...p, ...i, ...s])} = ${cell("data", [...p, index, ...s])}`;
  }
  const k = I.at(-1);
  const counts = [b, I.length - 1 - b, D.length - b - k];
  const [p, i, s] = ["p", "i", "s"].map((name, n) => lettersOf(name, counts[n]));
  const numbers = Array.from({ length: k }, (_, j) => cell("indices", [...p, ...i, j]));
  const merged = (text, letter, n) => `${text.includes("+") ? `(${text})` : text}*${I[n + 1]} + ${letter}`;
  const batch = row.flattens_batch && b > 1 ? [p.slice(1).reduce(merged, p[0])] : p;
  return `${cell("out", [...batch, ...i, ...s])} = ${cell("data", [...p, ...numbers, ...s])}`;
}

/** Return the heading of a picture, the name of the operator, with its version apart. */
function headingOf(model, { row, attrs, axis, b }, { isBrief }) {
  const turned = (number, from) => (number === null ? "?" : number === from || from === null ? number : `${number} → ${from}`);
  const numbers = { axis: turned(attrs.axis, axis), batch_dims: turned(attrs.batch_dims, b) };
  const words = Object.keys(row.attrs).map((name) => `${name} ${numbers[name]}`);
  for (const name of ["negative", "out_of_range"]) {
    if (model[name] !== "spec") words.push(`--${name.replaceAll("_", "-")} ${model[name]}`);
  }
  const own = words.filter((word) => !isBrief || !word.endsWith(" 0"));
  return { heading: [row.name, ...own].join("   "), version: isBrief ? row.id : row.full_name };
}

/** Return the places in an equation of the coordinates that an index replaces: [start, end]. */
function spansOf(equation, name) {
  const spans = [];
  let [begin, depth] = [equation.indexOf("= data[") + 7, 0];
  for (let at = begin; at < equation.length; at++) {
    const each = equation[at];
    if (!depth && (each === "," || each === "]")) {
      const word = equation.slice(begin, at).trimStart();
      if (word.startsWith(name)) spans.push([at - word.length, at]);
      begin = at + 1;
      if (each === "]") break;
    }
    depth += (each === "[") - (each === "]");
  }
  return spans;
}

/** Say which axes of the data an index names, which the batches share, and which stay: [words, kind]. */
function axisLines({ row, D, b, axes }) {
  const shared = Array.from({ length: b ?? 0 }, (_, d) => d);
  const rest = D.map((_, d) => d).filter((d) => !shared.includes(d) && !axes.includes(d));
  const by = row.tuples ? "by tuple" : "by index";
  const kinds = [[axes, by, by, "replaced"], [shared, "shared", "shared", "shared"], [rest, "stays", "stay", "stays"]];
  return kinds.flatMap(([dims, one, many, kind]) => {
    if (dims.length > 1) return [[`axes ${listed(dims)}: ${many}`, kind]];
    const arrow = kind === "shared" ? "" : ({ 1: "→ ", 2: "↓ " }[D.length - dims[0]] ?? "");
    return dims.map((d) => [`${arrow}axis ${d}: ${one}`, kind]);
  });
}

function tupleLines({ row, axes }) {
  return row.tuples && axes.length ? [[`tuple: (${axes.map((d) => `axis ${d}`).join(", ")})`, "note"]] : [];
}

/** Say how many steps each batch has. */
function lengthsOf({ inputs }) {
  return inputs[2].values.map((length, b) => `batch ${b}: max_seq_len ${length}`);
}

const TERM = /\[product\((\w+)\[([^\]:]*):([^\]:]*)\]\)\]|(\w+)\[([^\]:]*):([^\]:]*)\]/g;

/** Return the steps of the shape formula, with the numbers of a call. */
function shapeWords({ row, shapes, I, axis, b, shape }) {
  const numbers = { axis, batch_dims: b ?? 0, b: b ?? 0, k: row.tuples ? I.at(-1) : 0 };
  const bound = (words) => (words ? words.split("+").reduce((sum, word) => sum + (numbers[word] ?? Number(word)), 0) : undefined);
  const terms = [];
  const [formula] = row.shape.split(", k = ");
  const text = formula.replace(TERM, (_, merged, first, last, name = merged, start = first, stop = last) => {
    const [from, to] = [bound(start), bound(stop)];
    const dims = shapes[row.inputs.indexOf(name)].slice(from, to);
    const isMerged = merged && to > 1;
    terms.push(isMerged ? [total(dims)] : dims);
    const words = `${name}.shape[${from ?? ""}:${to ?? ""}]`;
    return isMerged ? `[product(${words})]` : words;
  });
  const sum = sized(terms.flat());
  const steps = [text, terms.map(sized).join(" + "), ...(terms.length > 1 ? [sum] : [])];
  if (sum !== sized(shape)) steps.push(`${sized(shape)} where both inputs agree`);
  return steps.join("  =  ");
}

const numbersText = (numbers, isTuple) => (isTuple ? `(${numbers.join(",")})` : String(numbers[0]));

/** Return the lines of the trace of an output cell of a gather; the last is its equation. */
function traceOf(model, answered, flat) {
  return model.family === "gather-tree" ? traceOfBeam(answered, flat) : traceOfGather(model, answered, flat);
}

/** Say what the cells of an index that points nowhere have. */
function fillingOf(model, { outside }) {
  return model.inputs[0].dtype === "str" && outside === "zero" ? "the empty string" : FILLINGS[outside];
}

function traceOfGather(model, answered, flat) {
  const { row, D, b, shape, panel, axes, indexShape, picks, policy } = answered;
  const { fate, index, source } = answered.cells[flat];
  const { numbers, positions } = picks[index];
  const [out, apart] = [coordinatesOf(flat, shape), coordinatesOf(flat, panel)];
  const letters = equationOf(model, answered).split(" = ")[0].slice(3).match(/[a-z]\d*/g) ?? [];
  const runs = letters.map((letter, n) => `${letter} = ${apart[n]}`).join(", ");
  const at = named(row.inputs[1], coordinatesOf(index, indexShape));
  const lines = [`${named("out", out)}${runs && `   ${runs}`}`, `  ${at} is ${numbersText(numbers, row.tuples)}`];
  numbers.forEach((k, n) => {
    const [position, size] = [positions[n], D[axes[n]]];
    const [axis, it] = [`axis ${axes[n]}, whose size is ${size}`, row.tuples ? k : "it"];
    if (position < 0) {
      lines.push(`  ${k} points nowhere on ${axis}: ${fate === "filled" ? fillingOf(model, policy) : "refused"}`);
    } else if (BigInt(position) === k) lines.push(`  ${it} is a position on ${axis}`);
    else if (policy.wraps && k < 0n && k + BigInt(size) === BigInt(position)) {
      lines.push(`  ${it} counts from the end of ${axis}: ${k} + ${size} = ${position}`);
    } else lines.push(`  ${it} is outside ${axis}: ${policy.wordsOf(k, size)} to ${position}`);
  });
  if (source >= 0) {
    const place = row.tuples ? numbersText(positions, true) : "it";
    lines.push(`  ${place} ${useOf(answered)}: ${named("data", coordinatesOf(source, D))}`);
  }
  const resolved = numbers.map((k, n) => {
    if (BigInt(positions[n]) === k && k >= 0n) return k;
    return `${k} → ${positions[n] < 0 ? "none" : positions[n]}`;
  });
  const { source: put } = OPERATORS[model.family].cell(answered, apart);
  const steps = [at, numbersText(resolved, row.tuples)].map((word) => `data[${put([word]).join(",")}]`);
  const value = fate === "refused" ? ": refused" : ` = ${textOf(model, answered, answered.cells[flat])}`;
  return [...lines, `  ${[named("out", out), ...steps].join(" = ")}${value}`];
}

/** Say which coordinates of the data an index replaces, and of an element which stay. */
function useOf({ row, D, b, axes, attrs }) {
  const words = (dims) => `${dims.length === 1 ? "coordinate" : "coordinates"} ${listed(dims)}`;
  if (!axes.length) return `has no numbers, so it picks all of ${attrs.batch_dims ? "its batch of " : ""}data`;
  const staying = row.elementwise ? D.map((_, d) => d).filter((d) => !axes.includes(d)) : [];
  const stay = staying.length && `; ${words(staying)} ${staying.length === 1 ? "stays" : "stay"}`;
  return `takes the place of ${words(axes)}${stay || ""}`;
}

/** Return the beams on the path of a beam, from its last step back: [step, beam]. */
function wayOf({ cells, last, shape: [, B, W] }, b, w) {
  const way = [];
  for (let t = last[b] - 1; t >= 0; t--) {
    const { beam } = cells[(t * B + b) * W + w];
    if (beam < 0) break;
    way.push([t, beam]);
  }
  return way;
}

/** Return ` → 1` if the parent of beam w at step t leads to another number, else nothing. */
function targetOf({ cells, inputs, shape: [, B, W] }, t, b, w) {
  const [own, before] = [t, t - 1].map((step) => cells[(step * B + b) * W + w]);
  if (!t || !own || own.beam < 0) return "";
  const parent = inputs[1].values[(t * B + b) * W + own.beam];
  if (before.beam >= 0 && before.beam === Number(parent)) return "";
  return ` → ${before.beam < 0 ? NOWHERE[before.fate] : before.beam}`;
}

function traceOfBeam(answered, flat) {
  const { cells, shape, inputs, last } = answered;
  const [t, b, w] = coordinatesOf(flat, shape);
  const { fate, source, beam } = cells[flat];
  const text = (n, ...at) => inputs[n].values[flatOf(at, inputs[n].shape)];
  const lines = [`out[${t},${b},${w}]   t = ${t}, b = ${b}, w = ${w}`];
  const length = `  max_seq_len[${b}] is ${text(2, b)}`;
  const end = last[b] - 1;
  if (fate === "beyond") {
    lines.push(`${length}, the length of batch ${b}: ${end >= 0 ? `step ${end} is its last` : "it has no steps"}`);
  } else {
    lines.push(`${length}: beam ${w} is followed back from step ${end}`);
    const way = wayOf(answered, b, w);
    const ended = way.findLast(([step, at]) => Number(text(0, step, b, at)) === Number(inputs[3].values[0]));
    const first = fate === "ended" ? ended[0] : t;
    for (const [step, at] of way.filter(([each]) => each >= first)) {
      let line = `  step ${step}: step_ids[${step},${b},${at}] is ${text(0, step, b, at)}`;
      if (step > first) {
        line += `, parent_ids[${step},${b},${at}] is ${text(1, step, b, at)}${targetOf(answered, step, b, w)}`;
      } else if (fate === "ended") line += ", which is end_token";
      lines.push(line);
    }
    if (fate === "ended") lines.push(`  step ${t} comes after it`);
  }
  const head = `  out[${t},${b},${w}]`;
  if (fate === "refused") return [...lines, `${head}: refused`];
  const from = { copied: ` = step_ids[${t},${b},${beam}]`, filled: ` = step_ids[${t},${b},none]` }[fate] ?? " = end_token";
  return [...lines, `${head}${from} = ${textOf(answered.model, answered, cells[flat])}`];
}

/** Write a tensor as nested lists; one that these cannot say as a typed literal. */
function nested(input, dtype) {
  const { shape, values, words = values } = input;
  if (dtype.startsWith("c") || (shape.length > 1 && !total(shape))) return literal(input, dtype);
  const write = (d, start, size) => {
    if (d === shape.length) return words[start];
    const step = size / shape[d];
    return `[${Array.from({ length: shape[d] }, (_, n) => write(d + 1, start + n * step, step)).join(",")}]`;
  };
  return write(0, 0, total(shape));
}

const literal = ({ shape, values, words = values }, dtype) => `${shape.join("x")}x${dtype}=${words.join(" ")}`;

const MOST_DRAWN = 7000; // cells of a picture
const MOST_RANK = 64;
const WIDEST_STRING = 24; // characters of one in a picture
// Characters that are not seen, or turn what is around them.
const UNSAFE = /[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const PRECISION = 6; // the digits of a float in a picture
const INTEGER = /^[-+]?[0-9]+$/;
const NUMBER = /^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?$/i;
const COMPLEX = /^(?:([-+]?(?:[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?|\.[0-9]+(?:e[-+]?[0-9]+)?|inf|nan))(?=[-+]))?([-+]?(?:[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?|\.[0-9]+(?:e[-+]?[0-9]+)?|inf|nan)?)j$/i;
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?$/i;
const NON_FINITE = { NaN, Infinity, "-Infinity": -Infinity };
const VALUE_WORDS = { nan: NaN, inf: Infinity, "+inf": Infinity, infinity: Infinity, "-inf": -Infinity, "-infinity": -Infinity };
// The significant bits of floats, and their least exponent and largest number.
const FLOATS = { f16: [11, -14, 65504], bf16: [8, -126, 0xff * 2 ** 120], f32: [24, -126, 0xffffff * 2 ** 104], f64: [53] };

const realOf = (word) => VALUE_WORDS[word.toLowerCase()] ?? Number(word);

/** Read a word as Python has its value: { kind, value, text }; nothing for one that is none. */
function itemOf(text) {
  const word = text.toLowerCase();
  if (INTEGER.test(text)) return { kind: "int", value: BigInt(text.replace("+", "")), text };
  if (NUMBER.test(text)) return { kind: Number.isFinite(Number(text)) ? "float" : "overflow", value: Number(text), text };
  if (word in VALUE_WORDS) return { kind: "float", value: VALUE_WORDS[word], text };
  if (word === "true" || word === "false") return { kind: "bool", value: word, text };
  const [, real = "0", imaginary] = COMPLEX.exec(text) ?? [];
  if (imaginary === undefined) return undefined;
  const parts = [real, /[0-9a-z]/i.test(imaginary) ? imaginary : `${imaginary}1`].map(realOf);
  return { kind: "complex", value: parts, text };
}

const stringItem = (value, text) => ({ kind: "string", value, text });
const noValue = (text) => new Error(text ? `“${text}” is no value` : "a value is missing");

/** Read the lists of a JSON text, or its only value. */
function itemsOfJson(source) {
  const pattern = /\s*(?:([[\],])|("(?:[^"\\]|\\.)*")|([^\s[\],"]+))/gy;
  const tokens = [...source.matchAll(pattern)];
  const end = tokens.reduce((length, [text]) => length + text.length, 0);
  if (source.slice(end).trim()) throw new Error("a quote is not closed");
  let next = 0;
  const item = () => {
    const [, mark, string, word] = tokens[next++] ?? [];
    if (string !== undefined) return stringItem(JSON.parse(string), string);
    if (word !== undefined) {
      if (word in NON_FINITE) return { kind: "float", value: NON_FINITE[word], text: word };
      if (JSON_NUMBER.test(word) || word === "true" || word === "false") return itemOf(word);
      throw noValue(word);
    }
    if (mark !== "[") throw new Error("lists are not closed, or lack a value");
    const items = [];
    while (items.length || tokens[next]?.[1] !== "]") {
      items.push(item());
      if (tokens[next]?.[1] === "]") break;
      if (tokens[next++]?.[1] !== ",") throw new Error("a comma is missing, or a list is not closed");
    }
    next++;
    return items;
  };
  const value = item();
  if (next < tokens.length) throw new Error(`unexpected “${tokens[next][0].trim()}”`);
  return value;
}

/** Read the values and lists of a typed literal, between blanks or commas. */
function itemsOfLiteral(body) {
  const pattern = /\s*(?:([[\],])|("(?:[^"\\]|\\.)*")|('[^']*')|([^\s[\],"']+))/gsy;
  const lists = [[]];
  let end = 0;
  for (const [text, mark, double, single, word] of body.matchAll(pattern)) {
    end += text.length;
    if (mark === "[") {
      const inner = [];
      lists.at(-1).push(inner);
      lists.push(inner);
    } else if (mark === "]") {
      lists.pop();
      if (!lists.length) throw new Error("a ] closes nothing");
    } else if (double !== undefined) lists.at(-1).push(stringItem(JSON.parse(double), double));
    else if (single !== undefined) lists.at(-1).push(stringItem(single.slice(1, -1), single));
    else if (word !== undefined) {
      const value = itemOf(word);
      if (!value) throw noValue(word);
      lists.at(-1).push(value);
    }
  }
  if (body.slice(end).trim()) throw new Error("a quote is not closed");
  if (lists.length > 1) throw new Error("a [ is not closed");
  return lists[0];
}

/** Return the shape of nested lists, and their items, row-major. */
function flattened(value) {
  if (!Array.isArray(value)) return { shape: [], items: [value] };
  const parts = value.map(flattened);
  const [first] = parts;
  if (parts.some(({ shape }) => sized(shape) !== sized(first.shape))) throw new Error("the lists differ in length");
  const shape = [value.length, ...(first?.shape ?? [])];
  if (shape.length > MOST_RANK) throw new Error(`the lists are nested deeper than ${MOST_RANK}`);
  return { shape, items: parts.flatMap(({ items }) => items) };
}

/** Return the name of a type that a short one stands for. */
function longName(dtype) {
  const [, kind, rest] = /^([a-z]+)(.*)$/.exec(dtype);
  const name = { i: "int", u: "uint", f: "float", bf: "bfloat", c: "complex", str: "string" }[kind] ?? kind;
  return `${name}${rest.replace(/^([468])e/, "$1_e")}`;
}

/** Read a tensor of a type as the command reads an argument: { shape, values, words }; or raise an Error. */
function read(text, dtype) {
  const source = text.trim();
  const check = (shape, name = dtype) => {
    if (name !== dtype && name !== longName(dtype)) throw new Error(`the type is ${name}, expected ${dtype}`);
    if (shape.length > MOST_RANK || total(shape) > MOST_DRAWN) throw new Error(`more than ${MOST_DRAWN} elements, or rank ${MOST_RANK}`);
  };
  const sizesOf = (words) => words.split("x").filter(Boolean).map(Number);
  const filled = (shape, items) => {
    const elements = items.map((item) => elementOf(dtype, item));
    return { shape, values: elements.map((each) => each.text), words: elements.map((each) => each.word) };
  };
  if (/^(arange|zeros|rand):/.test(source)) {
    const [, name, dims, type] = /^(arange|zeros):((?:[0-9]+(?:x[0-9]+)*)?)(?:x([a-z][a-z0-9_]*))?$/.exec(source) ?? [];
    if (!name || !(dims || type)) throw new Error("expected one such as arange:2x3 or zeros:2x3");
    const shape = sizesOf(dims);
    check(shape, type);
    if (dtype === "f8e8m0fnu") throw new Error(`${dtype} has no zero`);
    if (["bool", "str"].includes(dtype) && (name === "arange" || !type)) throw new Error(`${name} counts, which ${dtype} cannot`);
    const zero = { bool: itemOf("false"), str: stringItem("", '""') }[dtype];
    return filled(shape, flats(shape).map((n) => zero ?? itemOf(String(name === "arange" ? n : 0))));
  }
  const [, dims, type, body] = /^((?:[0-9]+x)+|x)([a-z][a-z0-9_]*)=(.*)$/s.exec(source) ?? [];
  if (type) {
    const shape = sizesOf(dims);
    check(shape, type);
    const values = itemsOfLiteral(body);
    if (values.length === 1 && !Array.isArray(values[0])) {
      elementOf(dtype, values[0]);
      return filled(shape, flats(shape).map(() => values[0]));
    }
    const { shape: own, items } = folded(dtype, flattened(values.length === 1 ? values[0] : values), shape);
    const isFlat = own.length === 1 && own[0] === total(shape);
    const isEmpty = own.includes(0) && sized(own) === sized(shape.slice(0, own.length));
    if (sized(own) !== sized(shape) && !isFlat && !isEmpty) throw new Error(`the values have shape ${sized(own)}, expected ${sized(shape)}`);
    return filled(shape, items);
  }
  let value;
  if (/^["[]/.test(source)) value = itemsOfJson(source);
  else if (source.includes(",")) {
    const words = source.split(",").map((each) => each.trim());
    if (!words.at(-1)) words.pop();
    value = words.map((word) => {
      const item = itemOf(word);
      if (!item || item.kind === "complex") throw noValue(word);
      return item;
    });
  } else {
    const isOne = NUMBER.test(source) || ["true", "false"].includes(source) || source in NON_FINITE;
    if (!isOne) throw noValue(source);
    value = itemOf(source);
  }
  const { shape, items } = folded(dtype, flattened(value));
  check(shape);
  return filled(shape, items);
}

/** Return complex numbers for pairs of their parts, a last axis of size 2. */
function folded(dtype, { shape, items }, wanted) {
  const isPairs = dtype.startsWith("c") && shape.at(-1) === 2 && !items.some(({ kind }) => kind === "complex");
  if (!isPairs || (wanted && sized(shape) === sized(wanted))) return { shape, items };
  const part = dtype === "c64" ? "f32" : "f64";
  const reals = items.map((item) => realOf(elementOf(part, item).word));
  const pairs = flats(shape.slice(0, -1)).map((n) => ({ kind: "complex", value: reals.slice(2 * n, 2 * n + 2) }));
  return { shape: shape.slice(0, -1), items: pairs };
}

/** Round a number to a float type, once, to even. */
function rounded(value, [bits, least, most]) {
  if (most === undefined || !value || !Number.isFinite(value)) return value;
  let exponent = Math.floor(Math.log2(Math.abs(value)));
  if (2 ** exponent > Math.abs(value)) exponent--;
  const step = 2 ** (Math.max(exponent, least) - bits + 1);
  const count = value / step;
  const floor = Math.floor(count);
  const rest = count - floor;
  const near = rest > 0.5 || (rest === 0.5 && floor % 2) ? floor + 1 : floor;
  const made = near * step || 0 * value;
  return Math.abs(made) > most ? Infinity * Math.sign(made) : made;
}

/** Write a number in scientific notation, rounded to some digits, a half to an even one. */
function scientific(value, count) {
  const nearest = value.toExponential(count - 1);
  const [digits, exponent] = value.toExponential(60).split("e");
  const kept = digits.slice(0, digits.indexOf(".") + count);
  const isTie = /^50*$/.test(digits.slice(kept.length)) && Number(kept.at(-1)) % 2 === 0;
  return isTie ? `${kept}e${exponent}` : nearest;
}

/** Write a float as a picture has it. */
function general(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (!value) return Object.is(value, -0) ? "-0" : "0";
  const rounded = scientific(value, PRECISION);
  const [digits, exponent] = rounded.split("e");
  if (exponent >= -4 && exponent < PRECISION) return String(Number(rounded));
  return `${Number(digits)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

const wordOfFloat = (value) => (Object.is(value, -0) ? "-0.0" : String(value));

/** Write a string as a picture has it. */
function shownString(value) {
  const characters = [...value];
  const short = characters.length > WIDEST_STRING ? `${characters.slice(0, WIDEST_STRING - 1).join("")}…` : value;
  const escaped = short.replace(/["\\]/g, "\\$&").replace(UNSAFE, (each) => {
    const code = each.codePointAt(0);
    const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${mark}${code.toString(16).padStart(width, "0")}`;
  });
  return `"${escaped}"`;
}

/** Return the text of an item as an element of a type, and its word in a command; or raise an Error. */
function elementOf(dtype, { kind, value, text }) {
  const [, sort, bits] = /^([a-z]+)(\d*)/.exec(dtype);
  const refuse = (expected) => new Error(`${text ? `“${text}”` : "nothing"} is ${expected}`);
  if (sort === "i" || sort === "u") {
    const isWhole = kind === "int" || (kind === "float" && Number.isInteger(value));
    if (!isWhole) throw refuse("no integer: expected digits, after a sign or none");
    const whole = BigInt(value);
    const fits = sort === "i" ? BigInt.asIntN(Number(bits), whole) : BigInt.asUintN(Number(bits), whole);
    if (fits !== whole) throw new Error(`${whole} does not fit ${dtype}`);
    return { text: String(whole), word: String(whole) };
  }
  if (dtype === "bool") {
    if (kind !== "bool") throw refuse("not true or false");
    return { text: value, word: value };
  }
  if (dtype === "str") {
    if (kind !== "string") throw refuse("no string: expected one in double quotes");
    if (value.endsWith("\0") || /\p{Surrogate}/u.test(value)) throw refuse("no text that a tensor holds");
    return { text: shownString(value), word: JSON.stringify(value) };
  }
  const form = FLOATS[{ c64: "f32", c128: "f64" }[dtype] ?? dtype];
  const float = (number) => {
    const made = form ? rounded(number, form) : number;
    if (!Number.isFinite(made) && Number.isFinite(number)) throw refuse(`beyond the range of ${dtype}`);
    return made;
  };
  if (sort === "c" && kind === "complex") {
    const [real, imaginary] = value.map(float);
    const sign = imaginary < 0 || Object.is(imaginary, -0) ? "" : "+";
    const parts = value.map((each) => wordOfFloat(each).replace("Infinity", "inf").replace("NaN", "nan"));
    return { text: `${general(real)}${sign}${general(imaginary)}j`, word: `${parts[0]}${parts[1].startsWith("-") ? "" : "+"}${parts[1]}j` };
  }
  const number = kind === "string" ? NON_FINITE[value] : Number(value);
  if (!["int", "float"].includes(kind) && (kind !== "string" || number === undefined)) {
    throw refuse(kind === "overflow" ? `beyond the range of ${dtype}` : "no number");
  }
  const isExact = kind !== "int" || !form || String((value < 0n ? -value : value).toString(2)).replace(/0+$/, "").length <= form[0];
  if (!isExact) throw refuse(`an integer that ${dtype} does not hold exactly`);
  const made = float(number);
  const word = kind === "int" ? String(value) : JSON_NUMBER.test(text) ? text : wordOfFloat(number);
  return { text: sort === "c" ? `${general(made)}+0j` : general(made), word };
}

/** Read an element of a type that is typed in a cell. */
function typedElement(dtype, typed) {
  const text = typed.trim();
  const isDigits = !/^[iu]/.test(dtype) || INTEGER.test(text);
  if (dtype !== "str") return elementOf(dtype, (isDigits && itemOf(text)) || { text });
  return elementOf(dtype, stringItem(/^".*"$/s.test(text) ? JSON.parse(text) : typed, typed));
}

/** Return the word of an element in a command from its JSON, in which NaN and 1+2j are none. */
function wordOf(dtype, json) {
  if (dtype === "str") return json;
  const [real, imaginary] = json.replace(/["[\]]/g, "").split(",");
  return imaginary === undefined ? real : `${real}${imaginary.startsWith("-") ? "" : "+"}${imaginary}j`;
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Write a call as a command. */
function commandOf(model, { version, attrs, inputs }) {
  const row = model.rows.find((each) => each.full_name === version);
  const tensors = inputs.map((input, n) => {
    const { dtype } = model.inputs[n];
    // Integers alone are read as this type; of nothing the type is that of another input.
    return dtype === "i64" && total(input.shape) ? nested(input, dtype) : literal(input, dtype);
  });
  const options = [];
  if (attrs.axis !== null) options.push("--axis", attrs.axis);
  if (attrs.batch_dims) options.push("--batch-dims", attrs.batch_dims);
  options.push("--version", row.id);
  for (const name of ["negative", "out_of_range"]) {
    if (model[name] !== "spec") options.push(`--${name.replaceAll("_", "-")}`, model[name]);
  }
  return ["gathercli", "explain", model.family, ...tensors, ...options].map(String).map(quoted).join(" ");
}
