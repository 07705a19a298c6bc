"use strict";
// What was chosen lights up all that shares a mark with it: data-of are places of the program,
// data-pass passes over data. A line or a box of one place asks by its places; a pass by itself.
const all = [...document.querySelectorAll("[data-of], [data-pass], [data-detail]")];
const details = JSON.parse(document.getElementById("details").textContent);
const search = document.getElementById("search"), found = document.getElementById("found");
const words = (e, name) => new Set((e.getAttribute(name) || "").split(" ").filter(Boolean));
const marks = new Map(all.map(e => [e, { of: words(e, "data-of"), pass: words(e, "data-pass") }]));
const meet = (a, b) => { for (const x of a) if (b.has(x)) return true; return false; };
let hits = [], at = -1;

function belongs(e, to) {
  const a = marks.get(e), b = marks.get(to);
  if (e === to) return true;
  if (a.pass.size && b.pass.size) return meet(a.pass, b.pass) && (!isSmall(e, to) || meet(a.of, b.of));
  return meet(a.of, b.of);
}
// two boxes of the program as written, or two lines, are related by their places alone
function isSmall(e, to) {
  const written = document.getElementById("written");
  return Boolean(written && written.contains(e) && written.contains(to));
}

function choose(chosen) {
  for (const e of all) {
    e.classList.toggle("lit", chosen !== null && belongs(e, chosen));
    e.classList.toggle("chosen-now", e === chosen);
    if (e.hasAttribute("role")) e.setAttribute("aria-pressed", e === chosen);
  }
  const text = document.getElementById("detail");
  if (chosen === null) { text.textContent = "Nothing yet."; return; }
  const own = chosen.getAttribute("data-detail");
  text.textContent = own === null ? chosen.getAttribute("data-find") : details[Number(own)];
  for (const panel of document.querySelectorAll(".source, .picture")) {
    const first = panel.querySelector(".lit");
    if (first && !panel.contains(chosen)) reveal(panel, first);
  }
}

function reveal(panel, e) {
  const a = panel.getBoundingClientRect(), b = e.getBoundingClientRect();
  if (b.top < a.top || b.bottom > a.bottom) panel.scrollTop += b.top - a.top - a.height / 3;
  if (b.left < a.left || b.right > a.right) panel.scrollLeft += b.left - a.left - a.width / 3;
}

function target(event) {
  if (event.target.closest("pre, summary, input")) return null;
  const e = event.target.closest("[data-of], [data-pass], [data-detail]");
  return e && marks.has(e) ? e : null;
}
document.addEventListener("click", event => {
  const e = target(event);
  if (e) choose(e);
});
document.addEventListener("keydown", event => {
  const typing = event.target === search;
  if (event.key === "Escape") { search.value = ""; look(); choose(null); search.blur(); }
  else if (event.key === "/" && !typing) { event.preventDefault(); search.focus(); }
  else if (event.key === "Enter" && typing) next(event.shiftKey ? -1 : 1);
  else if ((event.key === "Enter" || event.key === " ") && marks.has(event.target)) {
    event.preventDefault(); choose(event.target);
  } else if (event.key.startsWith("Arrow") && marks.has(event.target)) {
    const near = [...event.target.parentElement.children].filter(e => marks.has(e));
    const step = event.key === "ArrowDown" || event.key === "ArrowRight" ? 1 : -1;
    const to = near[near.indexOf(event.target) + step];
    if (to) { event.preventDefault(); to.focus(); choose(to); }
  }
});

function look() {
  const wanted = search.value.trim().toLowerCase();
  hits = wanted ? all.filter(e => (e.getAttribute("data-find") || "").toLowerCase().includes(wanted)) : [];
  const set = new Set(hits);
  for (const e of all) e.classList.toggle("hit", set.has(e));
  at = -1;
  found.textContent = wanted ? `${hits.length} found` : "";
}
function next(step) {
  if (!hits.length) return;
  at = (at + step + hits.length) % hits.length;
  found.textContent = `${at + 1} of ${hits.length}`;
  hits[at].scrollIntoView({ block: "center", inline: "center" });
  choose(hits[at]);
}
search.addEventListener("input", look);
