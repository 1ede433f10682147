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

/** Return the heading of a picture; of a lesson the operator, with its version apart. */
function headingOf(model, { row, attrs, axis, b }, { isLesson, isBrief }) {
  const turned = (number, from) => (number === null ? "?" : number === from || from === null ? number : `${number} → ${from}`);
  const numbers = { axis: turned(attrs.axis, axis), batch_dims: turned(attrs.batch_dims, b) };
  const words = Object.keys(row.attrs).map((name) => `${name} ${numbers[name]}`);
  for (const name of ["negative", "out_of_range"]) {
    if (model[name] !== "spec") words.push(`--${name.replaceAll("_", "-")} ${model[name]}`);
  }
  const own = words.filter((word) => !isBrief || !word.endsWith(" 0"));
  return { heading: [isLesson ? row.name : row.full_name, ...own].join("   "), version: isLesson ? row.id : "" };
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
    terms.push(merged ? [total(dims)] : dims);
    const words = `${name}.shape[${from ?? ""}:${to ?? ""}]`;
    return merged && to > 1 ? `[product(${words})]` : words;
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
      lines.push(`  ${k} points nowhere on ${axis}: ${fate === "filled" ? FILLINGS[policy.outside] : "refused"}`);
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

/** Write a tensor as nested lists; one without elements as its shape. */
function nested({ shape, values, words = values }) {
  if (total(shape) === 0 && !(shape.length === 1)) return `${shape.join("x")}=`;
  const write = (d, start, size) => {
    if (d === shape.length) return words[start];
    const step = size / shape[d];
    return `[${Array.from({ length: shape[d] }, (_, n) => write(d + 1, start + n * step, step)).join(",")}]`;
  };
  return write(0, 0, total(shape));
}

/** Read what `nested` writes: { shape, values }, or raise an Error that says what is wrong. */
function read(text, isWord) {
  const source = text.trim();
  const empty = /^((?:\d+x)*\d+)=$/.exec(source);
  if (empty) {
    const shape = empty[1].split("x").map(Number);
    if (total(shape)) throw new Error(`${source} has elements`);
    return { shape, values: [] };
  }
  const tokens = source.match(/[[\],]|"(?:[^"\\]|\\.)*"|[^\s[\],"]+/g) ?? [];
  const values = [];
  let next = 0;
  const item = () => {
    const token = tokens[next++];
    if (token === undefined || token === "," || token === "]") throw new Error("lists are not closed, or lack a value");
    if (token !== "[") {
      values.push(isWord(token));
      return [];
    }
    const shapes = [];
    while (tokens[next] !== "]") {
      if (shapes.length && tokens[next++] !== ",") throw new Error("a comma is missing");
      shapes.push(item());
    }
    next++;
    if (shapes.some((shape) => sized(shape) !== sized(shapes[0]))) throw new Error("the lists differ in length");
    return [shapes.length, ...(shapes[0] ?? [])];
  };
  const shape = item();
  if (next < tokens.length) throw new Error(`unexpected “${tokens[next]}”`);
  return { shape, values };
}

const PRECISION = 6; // the digits of a float in a picture
const INTEGER = /^[-+]?[0-9]+$/;

/** Read an element of a type: its text, and its word in a command; or raise an Error. */
function elementOf(dtype, typed) {
  const text = typed.trim();
  const [, kind, bits] = /^([a-z]+)(\d*)/.exec(dtype);
  if (kind === "i" || kind === "u") {
    if (!INTEGER.test(text)) throw new Error(`${text ? `“${text}”` : "nothing"} is no integer: expected digits, after a sign or none`);
    const value = BigInt(text.replace("+", ""));
    const fits = kind === "i" ? BigInt.asIntN(Number(bits), value) : BigInt.asUintN(Number(bits), value);
    if (fits !== value) throw new Error(`${value} does not fit ${dtype}`);
    return { text: String(value), word: String(value) };
  }
  if (dtype === "bool") {
    if (!["true", "false"].includes(text)) throw new Error(`“${text}” is not true or false`);
    return { text, word: text };
  }
  if (dtype === "str") {
    const word = /^".*"$/s.test(text) ? text : JSON.stringify(typed);
    JSON.parse(word);
    return { text: word, word };
  }
  if (!text || (kind !== "c" && Number.isNaN(Number(text)) && !/^[-+]?(nan|inf)$/i.test(text))) {
    throw new Error(`${text ? `“${text}”` : "nothing"} is no number`);
  }
  if (kind === "c") return { text, word: text };
  const special = /^([-+]?)(nan|inf)/i.exec(text);
  if (special) return { text: /nan/i.test(text) ? "nan" : `${special[1] === "-" ? "-" : ""}inf`, word: text };
  return { text: String(Number(Number(text).toPrecision(PRECISION))), word: text };
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
    if (dtype === "i64" && !nested(input).endsWith("=")) return nested(input);
    return `${input.shape.join("x")}x${dtype}=${(input.words ?? input.values).join(" ")}`;
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
