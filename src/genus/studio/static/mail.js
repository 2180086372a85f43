// Mail: what the filter knows, how much spam it catches, and why a message is spam or is not.

import { html, number, percent, svg } from "./dom.js";
import { get, send } from "./server.js";
import { button, card, name, note, replace, signedOdds } from "./widgets.js";

const MOST_KEPT = 1 << 20; // bytes of a file that outlives a reload of this tab

// What was opened stays while other screens are shown, and after a reload unless it is large.
function keep(app, raw, chosen) {
  app.mail = { raw, chosen };
  const text = raw.byteLength <= MOST_KEPT ? Array.from(new Uint8Array(raw), (b) => String.fromCharCode(b)).join("") : "";
  try {
    sessionStorage.setItem("mail", JSON.stringify({ text, chosen }));
  } catch {
    sessionStorage.removeItem("mail"); // the browser keeps no more
  }
}

function kept(app) {
  const { text, chosen } = JSON.parse(sessionStorage.getItem("mail") ?? "{}");
  return app.mail ?? (text ? { raw: Uint8Array.from(text, (c) => c.charCodeAt(0)), chosen } : null);
}

export function screen(app, root) {
  let raw = null;
  let listed = [];
  let more = false;
  let chosen = 0;
  let why = null;
  let told = "";
  let stats = null;
  const pasted = html("textarea", { id: "pasted", rows: 5, "data-key": "pasted", placeholder: "From: …\nSubject: …\n\n…", spellcheck: "false" });
  pasted.value = sessionStorage.getItem("pasted") ?? "";
  pasted.addEventListener("input", () => sessionStorage.setItem("pasted", pasted.value.slice(0, MOST_KEPT)));

  // Ask about a message of some bytes. The last question counts, whichever is answered last.
  let questions = 0;
  const ask = async (bytes, number, { lists = true, change = "" } = {}) => {
    const own = ++questions;
    try {
      if (change) await send("mail", { do: change, number }, bytes);
      const list = lists ? await send("mail", { do: "list" }, bytes) : { messages: listed, more };
      const reasons = await send("mail", { do: "why", number }, bytes);
      if (change) stats = await get("stats");
      if (own !== questions) return;
      ({ messages: listed, more } = list);
      [raw, chosen, why, told] = [bytes, number, reasons, ""];
      keep(app, raw, chosen);
    } catch (error) {
      if (own === questions) told = error.message;
    }
    draw();
  };
  const open = (bytes) => ask(bytes, 0);
  const pick = (i) => ask(raw, i, { lists: false });
  const correct = (change) => ask(raw, chosen, { change });

  function clues() {
    const most = Math.max(1e-9, ...why.clues.map((c) => Math.abs(c.weight)));
    return html("div", { class: "evidence mail-clues" },
      html("p", { class: "sides" }, html("span", {}, "← for ham"), html("span", {}, "for spam →")),
      html("ul", {}, ...why.clues.map((c) => html("li", {},
        html("span", { class: "what" }, name(c.token), " ", html("span", { class: "value" }, `${c.where}, ${c.known}`)),
        svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: "diverging", "aria-hidden": "true" }, svg("path", { d: "M50 0V12", class: "axis" }),
          svg("rect", { x: c.weight >= 0 ? 50 : 50 + (49 * c.weight) / most, width: Math.max((49 * Math.abs(c.weight)) / most, 0.3), y: 2, height: 8, class: c.weight >= 0 ? "c1" : "c0" })),
        html("span", { class: "figure" }, signedOdds(c.weight))))));
  }

  function draw() {
    const file = html("input", { type: "file", id: "mail-file", class: "offscreen" });
    file.addEventListener("change", async () => file.files[0] && open(await file.files[0].arrayBuffer()));
    const facts = stats && [
      ["ham known", stats.ham.toLocaleString("en")], ["spam known", stats.spam.toLocaleString("en")], ["tokens", stats.tokens.toLocaleString("en")],
      ["spam caught", stats.caught === null ? "not known yet" : percent(stats.caught, 1)], ["spam from a score of", stats.spam_above === null ? "–" : signedOdds(stats.spam_above)],
      ["ham that may be lost", percent(stats.ham_loss, 1)], ["size", `${number(stats.bytes / 1e6, 1)} MB`],
    ];
    replace(root, html("h1", {}, "Mail"),
      stats ? html("p", { class: "lead" }, name(stats.store), stats.writes ? "" : " (read only)") : null,
      facts ? html("dl", { class: "facts" }, ...facts.map(([what, value]) => html("div", {}, html("dt", {}, what), html("dd", {}, value)))) : null,
      stats?.advice.length ? html("div", { class: "cautions" }, html("ul", {}, ...stats.advice.map((a) => html("li", {}, a)))) : null,
      told ? html("p", { class: "wrong", role: "alert" }, told) : null,
      card("Judge a message",
        html("div", { class: "field" }, html("label", { for: "pasted" }, "Paste a message with its headers, or open a file (a message or an mbox)"), pasted),
        html("p", { class: "buttons" }, button("Judge it", () => pasted.value && open(new TextEncoder().encode(pasted.value)), { "data-key": "judge-mail" }), file, html("label", { for: "mail-file", class: "button" }, "Open a file"))),
      listed.length > 1 ? card(more ? `The first ${listed.length} messages` : `${listed.length} messages`, html("ul", { class: "messages" }, ...listed.map((m, i) => html("li", {},
        html("button", { type: "button", class: "message", "aria-pressed": String(i === chosen), onclick: () => pick(i), "data-key": `mail-${i}` },
          html("span", { class: `verdict-${m.verdict}` }, m.verdict), name(m.subject || "(no subject)"), html("span", { class: "figure" }, signedOdds(m.score))))))) : null,
      why ? card(name(why.subject || "(no subject)"),
        html("p", { class: "muted" }, name(why.from), " ", name(why.date)),
        html("p", { class: "outcome" }, html("strong", { class: `verdict-${why.verdict}` }, why.verdict), `: probability of spam ${percent(why.p, 1)}, score ${signedOdds(why.score)}, of which ${signedOdds(why.constant)} is the same for all messages. `, why.reason),
        why.learned ? html("p", {}, `The filter has learned it as ${why.learned}.`) : null,
        stats?.writes ? html("p", { class: "buttons" }, button("It is spam", () => correct("spam"), { "data-key": "is-spam" }), button("It is ham", () => correct("ham"), { "data-key": "is-ham" }), why.learned ? button("Forget it", () => correct("forget"), { class: "button quiet", "data-key": "forget-mail" }) : null)
          : note("Start the studio with --write to correct it."),
        clues(), note(why.others[0] ? `${why.others[0]} more tokens together: ${signedOdds(why.others[1])}. ` : "", `${why.unknown} tokens are new to the filter, so they do not count.`)) : null);
  }
  return {
    dropped: async (file) => open(await file.arrayBuffer()),
    async refresh() {
      stats = await get("stats");
      const before = raw ? null : kept(app);
      if (before) await ask(before.raw, before.chosen);
      else draw();
    },
  };
}
