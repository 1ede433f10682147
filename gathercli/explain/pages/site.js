// Check typed answers, remember which were right, and turn pages with keys.
"use strict";

/** Split an answer into its words and numbers, in lower case, without brackets and commas. */
function wordsOf(text) {
  return text
    .toLowerCase()
    .replace(/[−–]/g, "-") // a minus sign, or a dash in its place
    .replace(/[[\](){},;"'`=:]/g, " ")
    .replace(/(?<=\d)\s*[x×]\s*(?=\d)/g, " ") // a shape as commands take it: 5x2
    .trim()
    .split(/\s+/)
    .map((word) => (word !== "" && !Number.isNaN(Number(word)) ? String(Number(word)) : word));
}

/** Tell whether an answer is the one that is expected: all its numbers, or a word of it. */
function isSame(answer, expected) {
  const [given, wanted] = [wordsOf(answer), wordsOf(expected)];
  const isWord = wanted.length === 1 && /[a-z]/.test(wanted[0]);
  return isWord ? given.includes(wanted[0]) : given.join(" ") === wanted.join(" ");
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

function check(form) {
  const answer = form.querySelector("input").value;
  const said = form.querySelector("output");
  const { accept, slips } = form.dataset;
  const isRight = JSON.parse(accept).some((each) => isSame(answer, each));
  const slip = Object.entries(JSON.parse(slips)).find(([each]) => isSame(answer, each));
  form.dataset.state = answer.trim() === "" ? "" : isRight ? "right" : "wrong";
  said.textContent = { "": "", right: "Right.", wrong: `Not yet. ${slip?.[1] ?? ""}` }[
    form.dataset.state
  ];
  if (isRight && form.closest(".question")) remember(page);
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
document.addEventListener("keydown", (event) => {
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const isPlain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
  if (rel && isPlain && event.target === document.body) {
    document.querySelector(`nav a[rel=${rel}]`)?.click();
  }
});

// The command above a picture follows what is changed in it.
document.addEventListener("gathercli", ({ target, detail }) => {
  const shown = target.parentElement.querySelector("h2 code");
  if (shown) shown.textContent = `$ ${detail}`;
});
