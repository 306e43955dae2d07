// The dashboard's one style sheet and its script.
#include "service/dashboard_html.h"

namespace zkapex {

// Colours are chosen for a contrast of at least 4.5 to 1, in both schemes.
const std::string_view kDashboardStyle = R"css(:root {
  color-scheme: light dark;
  --back: #ffffff; --panel: #f4f5f7; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --link: #0a58ca;
  --received: #57606a; --accepted: #1a7f37; --rejected: #b42318; --due: #8250df;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1216; --panel: #1a1f26; --text: #e6e9ed; --soft: #a3adb8; --line: #3a424d; --link: #7ab7ff;
    --received: #a3adb8; --accepted: #57d07c; --rejected: #ff8f85; --due: #c4a3ff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
a:focus-visible, button:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: .5rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 2rem; align-items: center; padding: .75rem 1.25rem;
  border-bottom: 1px solid var(--line); background: var(--panel); }
.brand { font-size: 1.15rem; letter-spacing: .02em; }
nav ul { display: flex; gap: 1.25rem; margin: 0; padding: 0; list-style: none; }
nav a { text-decoration: none; padding: .25rem 0; }
nav a[aria-current] { color: var(--text); font-weight: 600; border-bottom: 2px solid var(--link); }
main { max-width: 75rem; margin: 0 auto; padding: 1rem 1.25rem 3rem; }
h1 { font-size: 1.6rem; margin: .5rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 0 0 1rem; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .9rem; }
.card dt { color: var(--soft); font-size: .85rem; }
.card dd { margin: 0; font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere; }
.card time { font-size: 1rem; }
.card .age { display: block; font-weight: normal; font-size: .85rem; }
.age, .size, .hash { white-space: nowrap; }
.card.alarm { border-color: var(--rejected); }
.card.alarm dd { color: var(--rejected); }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
caption { text-align: left; color: var(--soft); font-size: .9rem; padding-bottom: .25rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line);
  font-weight: normal; overflow-wrap: break-word; }
thead th { color: var(--soft); font-size: .85rem; white-space: nowrap; }
tbody th { font-weight: 600; }
.state { font-weight: 600; white-space: nowrap; }
.state::before { content: "●\00a0"; }
.state.accepted, .state.open { color: var(--accepted); }
.state.rejected, .state.late { color: var(--rejected); }
.state.received, .state.unverified, .state.announced, .state.scheduled, .state.queued { color: var(--due); }
.state.missing, .state.closed { color: var(--soft); }
progress { width: 7rem; max-width: 100%; accent-color: var(--accepted); vertical-align: middle; }
.chart { margin: 1rem 0; padding: .75rem; background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; }
.chart svg { display: block; width: 100%; height: auto; }
.chart text { fill: var(--soft); font-size: 9px; }
.chart path, .chart line { vector-effect: non-scaling-stroke; }
.grid { stroke: var(--line); stroke-width: 1; }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.line.received { stroke: var(--received); stroke-dasharray: 2 4; }
.line.accepted { stroke: var(--accepted); }
.line.rejected { stroke: var(--rejected); stroke-dasharray: 8 4; }
.due { stroke: var(--due); stroke-width: 1.5; stroke-dasharray: 12 4; }
.now { stroke: var(--soft); stroke-width: 1; }
.key::before { content: "■\00a0"; }
.key { margin-right: .75rem; white-space: nowrap; }
.key.received { color: var(--received); } .key.accepted { color: var(--accepted); }
.key.rejected { color: var(--rejected); } .key.due { color: var(--due); }
td .alarm { color: var(--rejected); font-weight: 600; }
figcaption { font-size: .9rem; margin-bottom: .25rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
button { font: inherit; padding: .25rem .75rem; border: 1px solid var(--line); border-radius: .35rem;
  background: var(--panel); color: var(--text); cursor: pointer; }
button[aria-pressed=true] { background: var(--link); color: var(--back); border-color: var(--link); }
#filter button { margin: 0 .4rem .4rem 0; }
.forget { margin: 0 0 1rem; }
.forget summary { cursor: pointer; color: var(--link); }
.empty, .soft { color: var(--soft); }
form { display: inline; }
@media (max-width: 64rem) { .chart text { font-size: 13px; } }
@media (max-width: 45rem) {
  main { padding: .75rem .9rem 2rem; }
  .cards { grid-template-columns: 1fr 1fr; }
  main > table thead { position: absolute; left: -100rem; }
  main > table, main > table tbody, main > table caption { display: block; }
  main > table tr { display: block; border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .75rem;
    margin-bottom: .6rem; }
  main > table th, main > table td { display: block; position: relative; min-height: 1.5rem; border: 0;
    padding: .2rem 0 .2rem 7.25rem; overflow-wrap: anywhere; }
  main > table tbody th::before, main > table td::before { content: attr(data-label); position: absolute; left: 0;
    width: 6.5rem; color: var(--soft); font-weight: normal; font-size: .9rem; }
  progress { width: 5rem; }
  .chart text { font-size: 22px; }
}
)css";

const std::string_view kDashboardScript = R"js("use strict";

// How long from now, behind every time.
function tellAges(root) {
  const units = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const words = new Intl.RelativeTimeFormat("en", {numeric: "auto"});
  for (const element of root.querySelectorAll("time[datetime]")) {
    const seconds = Math.round((Date.parse(element.dateTime) - Date.now()) / 1000);
    const [size, unit] = units.find(([size]) => Math.abs(seconds) >= size) || units[3];
    let age = element.nextElementSibling;
    if (!age || !age.classList.contains("age")) {
      age = document.createElement("small");
      age.className = "age soft";
      element.after(" ", age);
    }
    age.textContent = "(" + words.format(Math.trunc(seconds / size), unit) + ")";
  }
}

// Buttons that show only the rows of one state.
function offerFilter(root) {
  const place = root.querySelector("#filter");
  if (!place) return;
  const rows = [...root.querySelectorAll("tr[data-state]")];
  const states = [...new Set(rows.map((row) => row.dataset.state))];
  if (states.length < 2) return;
  place.hidden = false;
  place.replaceChildren();
  const show = (wanted) => {
    for (const row of rows) row.hidden = wanted !== "all" && row.dataset.state !== wanted;
    for (const button of place.children) button.setAttribute("aria-pressed", button.dataset.state === wanted);
    place.dataset.wanted = wanted;
  };
  for (const state of ["all", ...states]) {
    const button = document.createElement("button");
    const count = state === "all" ? rows.length : rows.filter((row) => row.dataset.state === state).length;
    button.type = "button";
    button.dataset.state = state;
    button.textContent = state + " " + count;
    button.addEventListener("click", () => show(state));
    place.append(button);
  }
  show("all");
}

// The page as it is now, every half minute, unless somebody is at work in it.
async function refresh() {
  const main = document.querySelector("main");
  const filter = document.querySelector("#filter");
  const busy = document.hidden || main.contains(document.activeElement) || main.querySelector("details[open]") ||
      (filter && filter.dataset.wanted && filter.dataset.wanted !== "all");
  if (!busy) {
    try {
      const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
        if (fresh) {
          main.replaceChildren(...fresh.childNodes);
          prepare();
        }
      }
    } catch (error) {
      // The server is away: the next time may be better.
    }
  }
  setTimeout(refresh, 30000);
}

function prepare() {
  tellAges(document);
  offerFilter(document);
}

prepare();
setTimeout(refresh, 30000);
)js";

}  // namespace zkapex
