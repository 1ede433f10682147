// Check typed answers, remember which were right, and turn pages with keys.
"use strict";

const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/;
const FILLERS = /^(?:an?|the|its?|is|are|so)$/;
const LEADS = /^(?:(?:it|the|answer|shape|out|output|result|index|indices|is|are|gives)\b\s*)+[:=]?/;

/** Write an answer as it is compared: in lower case, a dash as the minus that it stands for. */
function plain(text) {
  return text
    .toLowerCase()
    .replace(/[−–]/g, "-")
    .replace(/[`"'“”‘’]/g, "")
    .trim();
}

/** Read a number or nested lists as a command does, outer brackets or not; undefined for another text. */
function tensorOf(text) {
  const inner = text.replace(/^(?:\w+\.)?(?:array|tensor|size)\((.*?)(?:,\s*dtype=[\w.]+)?\)$/s, "$1").replace(/\band\b/g, " ");
  const tokens = inner.replace(/\(/g, "[").replace(/\)/g, "]").match(/[[\],]|[^[\],\s]+/g) ?? [];
  const words = tokens.map((token) => (NUMBER.test(token) ? JSON.stringify(Number(token) || 0) : token));
  const json = words
    .join(" ")
    .replace(/(?<=[\d\]]) (?=[[\d-])/g, ",") // blanks alone, as NumPy prints
    .replace(/,(?= \]|$)/g, "");
  try {
    const lists = JSON.parse(`[${json}]`);
    return lists.length === 1 && tokens.at(-1) !== "," ? lists[0] : lists.length ? lists : undefined;
  } catch {
    return undefined;
  }
}

/** Read a shape: 5x2, [5,2] or 5,2; one size alone, too. */
function shapeOf(text) {
  const sizes = tensorOf(text.replace(/(?<=\d)\s*[x×]\s*(?=\d)/g, ","));
  return typeof sizes === "number" ? [sizes] : sizes;
}

/** Join the words of an answer: gather-elements, Gather Elements and gather_elements are one. */
function wordsOf(text) {
  const words = text.replace(/[-_](?=[a-z])|[.,;:!]+$|[=:]/gm, " ").split(/\s+/);
  return words.filter((word) => !FILLERS.test(word)).join("");
}

/** Return the number, lists or shape of an answer; undefined for words. */
function valueOf(answer, isShape) {
  const value = plain(answer).replace(LEADS, "").replace(/\.$/, "");
  return isShape ? shapeOf(value) : tensorOf(value);
}

/** Return what is compared of an answer. */
function read(answer, isShape) {
  return JSON.stringify(valueOf(answer, isShape) ?? wordsOf(plain(answer)));
}

function isSame(answer, expected, isShape) {
  return read(answer, isShape) === read(expected, isShape);
}

/** Tell whether two answers have the same numbers in other brackets. */
function isFlatter(answer, expected) {
  const [given, wanted] = [answer, expected].map((each) => tensorOf(plain(each)));
  const numbers = (nested) => JSON.stringify([nested].flat(Infinity));
  return given !== undefined && wanted !== undefined && numbers(given) === numbers(wanted);
}

const STORE = "gathercli lessons";

/** Return the lessons whose question was answered; none where a browser keeps nothing. */
function solved() {
  try {
    return new Set(JSON.parse(localStorage.getItem(STORE) ?? "[]"));
  } catch {
    return new Set();
  }
}

function remember(lesson) {
  try {
    localStorage.setItem(STORE, JSON.stringify([...solved().add(lesson)]));
  } catch {
    // A page from a file, or private: it works without.
  }
}

const page = location.pathname.split("/").pop();

/** Return what is said of an answer, and whether it is right. */
function judged(answer, { accept, slips, shape }) {
  const isShape = shape !== undefined;
  const accepted = JSON.parse(accept);
  if (answer.trim() === "") return ["", ""];
  if (accepted.some((each) => isSame(answer, each, isShape))) return ["right", "Right."];
  const slip = Object.entries(JSON.parse(slips)).find(([each]) => isSame(answer, each, isShape));
  const isNumeric = accepted.some((each) => valueOf(each, isShape) !== undefined);
  let hint = "";
  if (accepted.some((each) => isFlatter(answer, each))) hint = "The numbers are right, their brackets are not.";
  else if (isNumeric && /\d/.test(answer) && valueOf(answer, isShape) === undefined) {
    hint = "This cannot be read: write numbers, and lists in brackets, as [1,2].";
  }
  return ["wrong", `Not yet. ${slip?.[1] ?? hint}`];
}

function check(form) {
  const [state, words] = judged(form.querySelector("input").value, form.dataset);
  form.dataset.state = state;
  form.querySelector("output").textContent = words;
  if (state === "right" && form.closest(".question")) remember(page);
}

document.documentElement.classList.add("script");
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    check(form);
  });
}
for (const link of document.querySelectorAll(".lessons a")) {
  if (solved().has(link.getAttribute("href"))) link.append(" ✓");
}
if (location.search === "?tour") {
  for (const link of document.querySelectorAll("[data-tour]")) {
    link.href = `${link.dataset.tour}?tour`;
    link.textContent = link.dataset.title;
  }
}
document.addEventListener("keydown", (event) => {
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const isPlain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
  if (rel && isPlain && event.target === document.body) {
    document.querySelector(`a[rel=${rel}]`)?.click();
  }
});

// In a picture arrows go from cell to cell; Escape leaves it, so that they turn pages again.
document.addEventListener(
  "keydown",
  (event) => {
    const [at] = event.composedPath();
    if (event.key === "Escape" && at.matches?.(".cell")) at.blur();
  },
  true,
);

// The command above a picture follows what is changed in it.
document.addEventListener("gathercli", ({ target, detail }) => {
  const shown = target.parentElement.querySelector("h2 code");
  if (shown) shown.textContent = `$ ${detail}`;
});
