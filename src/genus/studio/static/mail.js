// Mail: what the filter knows, how much spam it catches, and why a message is spam or is not.

import { html, number, percent } from "./dom.js";
import { get, send } from "./server.js";
import { button, card, name, note, replace, signedOdds } from "./widgets.js";
import { svg } from "./dom.js";

export function screen(app, root) {
  let raw = null;
  let listed = [];
  let chosen = 0;
  let why = null;
  let told = "";
  let stats = null;
  const pasted = html("textarea", { id: "pasted", rows: 5, "data-key": "pasted", placeholder: "From: …\nSubject: …\n\n…", spellcheck: "false" });

  const ask = async (work) => {
    try {
      told = "";
      await work();
    } catch (error) {
      told = error.message;
    }
    draw();
  };
  const open = (bytes) => ask(async () => {
    raw = bytes;
    chosen = 0;
    listed = (await send("mail", { do: "list" }, raw)).messages;
    why = await send("mail", { do: "why", number: 0 }, raw);
  });
  const pick = (i) => ask(async () => {
    chosen = i;
    why = await send("mail", { do: "why", number: i }, raw);
  });
  const correct = (what) => ask(async () => {
    await send("mail", { do: what, number: chosen }, raw);
    listed = (await send("mail", { do: "list" }, raw)).messages;
    why = await send("mail", { do: "why", number: chosen }, raw);
    stats = await get("stats");
  });

  function clues() {
    const most = Math.max(1e-9, ...why.clues.map((c) => Math.abs(c.weight)));
    return html("div", { class: "evidence mail-clues" },
      html("p", { class: "sides" }, html("span", {}, "← for ham"), html("span", {}, "for spam →")),
      html("ul", {}, ...why.clues.filter((c) => Math.abs(c.weight) >= 0.005).map((c) => html("li", {},
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
      ["spam caught", stats.caught === null ? "not known yet" : percent(stats.caught, 1)], ["spam above", stats.spam_above === null ? "–" : signedOdds(stats.spam_above)],
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
      listed.length > 1 ? card(`${listed.length} messages`, html("ul", { class: "messages" }, ...listed.map((m, i) => html("li", {},
        html("button", { type: "button", class: "message", "aria-pressed": String(i === chosen), onclick: () => pick(i), "data-key": `mail-${i}` },
          html("span", { class: `verdict-${m.verdict}` }, m.verdict), name(m.subject || "(no subject)"), html("span", { class: "figure" }, signedOdds(m.score))))))) : null,
      why ? card(name(why.subject || "(no subject)"),
        html("p", { class: "muted" }, name(why.from), " ", name(why.date)),
        html("p", { class: "outcome" }, html("strong", { class: `verdict-${why.verdict}` }, why.verdict), `: probability of spam ${percent(why.p, 1)}, score ${signedOdds(why.score)}, of which ${signedOdds(why.constant)} without any token. `, why.reason),
        why.learned ? html("p", {}, `The filter has learned it as ${why.learned}.`) : null,
        stats?.writes ? html("p", { class: "buttons" }, button("It is spam", () => correct("spam"), { "data-key": "is-spam" }), button("It is ham", () => correct("ham"), { "data-key": "is-ham" }), why.learned ? button("Forget it", () => correct("forget"), { class: "button quiet", "data-key": "forget-mail" }) : null)
          : note("Start the studio with --write to correct it."),
        clues(), note(`${why.unknown} tokens are new to the filter, so they do not count.`)) : null);
  }
  return {
    async refresh() {
      stats = await get("stats");
      draw();
    },
  };
}
