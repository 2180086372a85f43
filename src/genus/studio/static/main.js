// The shell of the page: what is open, the screens, the work under way, and whether the server answers.

import { html, number } from "./dom.js";
import { place } from "./place.js";
import { get, post } from "./server.js";
import { button, name, replace } from "./widgets.js";
import * as compare from "./compare.js";
import * as edit from "./edit.js";
import * as exporting from "./export.js";
import * as mail from "./mail.js";
import * as opening from "./open.js";
import * as rows from "./rows.js";
import * as scores from "./scores.js";
import * as table from "./table.js";
import * as text from "./text.js";

const SCREENS = {
  open: ["Open a table", opening],
  table: ["Table", table],
  scores: ["Scores", scores],
  rows: ["Rows", rows],
  edit: ["Forget & correct", edit],
  compare: ["Compare", compare],
  text: ["Text", text],
  mail: ["Mail", mail],
  export: ["Export", exporting],
};
const PAUSE = 1000;
const PAUSE_AT_WORK = 250;

const shell = document.getElementById("shell");
const side = html("header", { class: "side" });
const banner = html("div", { class: "banner", role: "status", "aria-live": "polite" });
const main = html("main", { id: "main", tabindex: "-1" });
shell.append(side, html("div", { class: "body" }, banner, main));

const app = {
  state: null,
  screen: null,
  shown: null,
  lost: "",
  refused: "",
  data: "", // the table and target whose rows were shown last
  dropped: null, // a file to open
  // What was selected in the list of rows; it outlives a reload of this tab.
  selected: new Set(),
  keepSelection() {
    sessionStorage.setItem("selected", JSON.stringify([app.data, [...app.selected]]));
  },
  // Ask for a change; what the server does not accept is shown as a sentence.
  async ask(path, body) {
    try {
      const found = await post(path, body);
      app.refused = "";
      await poll();
      return found;
    } catch (error) {
      app.refused = error.message;
      drawBanner();
      return null;
    }
  },
  go(hash) {
    location.hash = hash;
  },
  poll: () => poll(),
};

// The screen of the address, or the first one. A table is opened, and the target changed, on a screen that is not in the list.
function wantedAt(at) {
  const { screens, own, opens } = app.state;
  const isOpening = at.screen === "open" && (at.rest === "file" ? opens : own);
  return screens.includes(at.screen) || isOpening ? at.screen : screens[0];
}

// Rows are known by their positions in a table: a selection in another table or target is dropped.
function follow() {
  const { shown } = app.state;
  if (!shown || shown === app.data) return false;
  const [data, rows] = JSON.parse(sessionStorage.getItem("selected") ?? '["", []]');
  const isOther = app.data !== "" || (data && data !== shown);
  app.data = shown;
  app.selected = new Set(isOther ? [] : rows);
  app.keepSelection();
  return isOther;
}

async function show() {
  const { state } = app;
  if (!state) return;
  const at = place();
  const wanted = wantedAt(at);
  const key = `${wanted}/${wanted === at.screen ? at.rest : ""}`;
  const given = wanted === at.screen ? at.given : {};
  if (app.shown?.key !== key) {
    const root = html("div", { class: `screen screen-${wanted}` }, html("p", { class: "lead soon" }, "Computing …"));
    main.replaceChildren(root);
    app.shown = { key, name: wanted, ...SCREENS[wanted][1].screen(app, root, wanted === at.screen ? at.rest : "", given) };
    document.title = `${titleOf(wanted)} · ${state.name || "genus"} · genus studio`;
    scrollTo(0, 0);
  } else app.shown.moved?.(given);
  drawSide();
  await refresh();
}

async function refresh() {
  const { shown } = app;
  try {
    await shown.refresh();
  } catch (error) {
    if (app.shown !== shown) return;
    if (error.status === 409) return; // another table was opened, and the next state shows it
    if (error.status) {
      app.refused = error.message;
      drawBanner();
    } else if (error instanceof TypeError && error.message.includes("fetch")) lose();
    else throw error;
  }
}

const titleOf = (key) => (key === "open" && place().rest !== "file" && (app.state.targets || app.state.own) ? "Choose the target" : SCREENS[key][0]);

function drawSide() {
  const { state } = app;
  const links = state.screens.map((key) =>
    html("li", {}, html("a", { href: `#/${key}`, "aria-current": app.shown?.name === key ? "page" : false, "data-key": `nav-${key}` }, titleOf(key))),
  );
  replace(
    side,
    html("div", { class: "brand" }, html("strong", {}, "genus"), " studio"),
    html("p", { class: "file" },
      state.name ? name(state.name) : null,
      state.opens && (state.targets || state.screens[0] !== "open") ? html("a", { href: "#open/file", "data-key": "open-file" }, state.name ? "Open another" : "Open a table") : null),
    html("nav", { "aria-label": "Screens" }, html("ul", {}, ...links)),
    headline(state),
  );
  showTab();
}

// On a narrow page the screens are a strip; the present one is to be in sight.
function showTab() {
  side.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

function headline(state) {
  if (!("target" in state)) return null;
  const lines = [];
  for (const what of ["accuracy", "log loss"]) {
    const now = state.scores?.[what];
    const before = state.before?.[what];
    const change = now && before ? now[0] - before[0] : 0;
    const better = what === "accuracy" ? change > 0 : change < 0;
    lines.push(
      html(
        "div",
        {},
        html("dt", {}, what),
        html("dd", { class: state.scores ? "" : "stale" }, now ? number(now[0], 3) : "…",
          now && before && Math.abs(change) >= 0.0005
            ? html("span", { class: better ? "better" : "worse" }, ` ${change > 0 ? "+" : ""}${number(change, 3)}`)
            : null),
      ),
    );
  }
  return html(
    "div",
    { class: "headline" },
    html("p", {}, state.total === null || state.own ? `${state.rows.toLocaleString("en")} rows, predicting ` : `${state.total.toLocaleString("en")} new rows, predicting `, name(state.target)),
    html("dl", {}, ...lines),
    state.edits.length
      ? html("p", { class: "changes" }, `${state.edits.length} change${state.edits.length > 1 ? "s" : ""} `, button("Undo", () => app.ask("undo"), { class: "button small", "data-key": "undo" }))
      : null,
  );
}

function drawBanner() {
  const { state } = app;
  const found = [];
  if (app.lost) found.push(html("p", { class: "lost" }, app.lost));
  else
    for (const [which, job] of [["job", state?.job], ["aside", state?.aside]]) {
      if (!job) continue;
      const { title, done, total } = job;
      const bar = total ? html("progress", { max: total, value: done, "aria-label": title }) : html("progress", { "aria-label": title });
      found.push(
        html("p", { class: "job" }, html("span", {}, title), bar,
          button("Stop", () => app.ask("stop", { aside: which === "aside" }), { class: "button small", "data-key": `stop-${which}` })),
      );
    }
  if (app.refused)
    found.push(html("p", { class: "wrong", role: "alert" }, html("span", {}, app.refused), button("Close", () => { app.refused = ""; drawBanner(); }, { class: "button small" })));
  else if (state?.error && !state.job && !state.aside && app.closed !== `${state.serial} ${state.error}`)
    found.push(html("p", { class: "wrong", role: "alert" }, html("span", {}, state.error),
      state.target && !state.scores ? button("Compute the scores", () => app.ask("judge"), { class: "button small", "data-key": "judge" }) : null,
      button("Close", () => { app.closed = `${state.serial} ${state.error}`; drawBanner(); }, { class: "button small", "data-key": "close" })));
  replace(banner, ...found);
}

function lose() {
  app.lost = "The studio does not respond: it has stopped or is restarting. If it has stopped, start the same command again; this page then continues.";
  document.body.classList.add("is-lost");
  drawBanner();
}

let polling = null;

async function poll() {
  if (polling) return polling;
  polling = (async () => {
    try {
      const before = app.state;
      app.state = await get("state");
      const wasLost = app.lost;
      app.lost = "";
      document.body.classList.remove("is-lost");
      drawBanner();
      const isNew = !before || before.serial !== app.state.serial || wasLost;
      if (isNew) {
        const isOther = follow();
        if (isOther && place().screen !== "open") {
          app.shown = null;
          if (place().rest || location.hash.includes("?")) history.replaceState(null, "", `#${place().screen}`);
        }
        if (app.shown?.name === wantedAt(place())) {
          drawSide();
          await refresh();
        } else await show();
      }
    } catch (error) {
      if (error.status === 403) {
        app.lost = error.message;
        drawBanner();
      } else if (error.status) {
        app.refused = error.message;
        drawBanner();
      } else if (error instanceof TypeError) lose();
      else throw error;
    } finally {
      polling = null;
    }
  })();
  return polling;
}

async function watch() {
  if (!document.hidden || app.state === null) await poll();
  setTimeout(watch, app.state?.job || app.state?.aside ? PAUSE_AT_WORK : PAUSE);
}

// The token has done its work; it need not stay in the address, nor in the history.
if (location.search) history.replaceState(null, "", `/${location.hash}`);
addEventListener("hashchange", show);
// A file may be dropped on any screen; without this, the browser would show it instead of the page.
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (!file || !app.state) return;
  if (app.shown?.dropped) app.shown.dropped(file);
  else if (app.state.opens) {
    app.dropped = file;
    app.go("open/file");
  }
});
addEventListener("resize", showTab);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("visibilitychange", () => document.hidden || poll());
globalThis.genusStudio = app;
watch();
