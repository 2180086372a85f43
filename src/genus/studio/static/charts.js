// Figures: densities, curves and lists of shares, drawn from what the server computed.

import { html, number, percent, svg } from "./dom.js";
import { plot } from "./plot.js";
import { colourOf, nameOf, signedOdds } from "./widgets.js";

const DASHES = ["", "7 3", "2 3", "9 3 2 3", "5 5", "12 3", "1 4"];
export const dash = (state, k) => DASHES[state.classes?.[k]?.colour] || undefined;

export const SMALL = { width: 300, height: 240 };
let made = 0;

// A picture with axes; `lines` have points, a style and a dash.
export function chart(options) {
  const picture = html("figure", { class: "chart" });
  const drawn = plot(
    { name: `chart${(made += 1)}`, picture },
    { width: 360, height: 270, margin: { top: 12, right: 14, bottom: 40, left: 46 }, ...options },
  );
  for (const band of options.bands ?? [])
    drawn.add("path", {
      d: `${drawn.path(band.points.map(([x, low]) => [x, low]))}${drawn
        .path(band.points.map(([x, , high]) => [x, high]).reverse())
        .replace("M", "L")}Z`,
      class: `band ${band.kind}`,
    });
  for (const line of options.lines ?? [])
    drawn.add("path", { d: drawn.path(line.points), class: `line ${line.kind ?? ""}`, "stroke-dasharray": line.dash });
  for (const bar of options.errors ?? [])
    drawn.add("path", { d: `M${drawn.X(bar.x)} ${drawn.Y(bar.low)}V${drawn.Y(bar.high)}`, class: "line error" });
  for (const dot of options.dots ?? [])
    drawn.add("circle", { cx: drawn.X(dot.x), cy: drawn.Y(dot.y), r: dot.r ?? 4, class: `dot ${dot.kind ?? ""}` });
  picture.append(html("figcaption", { class: "offscreen" }, options.said ?? ""));
  picture.plotted = drawn;
  return picture;
}

// The distribution of a column in each class, over a histogram of all rows.
export function density(state, found, title, { large = false } = {}) {
  if (!found) return html("p", { class: "muted" }, "–");
  return found.kind === "shares" ? shares(state, found, title, large) : curves(state, found, title, large);
}

function curves(state, found, title, large) {
  const width = large ? 420 : 300;
  const height = large ? 190 : 84;
  const base = height - 18;
  const [low, high] = [found.edges[0], found.edges.at(-1)];
  const X = (v) => 4 + ((v - low) / (high - low || 1)) * (width - 8);
  const Y = (v) => base - (v / found.top) * (base - 4);
  const parts = found.bars.map((bar, i) =>
    svg("rect", {
      x: X(found.edges[i]).toFixed(1),
      y: Y(bar).toFixed(1),
      width: Math.max(X(found.edges[i + 1]) - X(found.edges[i]) - 0.6, 0.4).toFixed(1),
      height: Math.max(base - Y(bar), 0).toFixed(1),
      class: "histogram",
    }),
  );
  const order = found.classes.map((_, i) => i).sort((a, b) => state.classes[found.classes[b]].colour - state.classes[found.classes[a]].colour);
  for (const i of order) {
    const k = found.classes[i];
    const points = found.x.map((x, j) => `${X(x).toFixed(1)} ${Y(found.p[i][j]).toFixed(1)}`);
    parts.push(svg("path", { d: `M${points.join("L")}`, class: `line ${colourOf(state, k)}`, "stroke-dasharray": dash(state, k) }));
    if (found.shares && found.x.length <= 30)
      for (const [j, x] of found.x.entries())
        parts.push(svg("circle", { cx: X(x).toFixed(1), cy: Y(found.p[i][j]).toFixed(1), r: large ? 3 : 2, class: `dot ${colourOf(state, k)}` }));
  }
  parts.push(
    svg("path", { d: `M2 ${base}H${width - 2}`, class: "axis" }),
    svg("text", { x: 2, y: height - 4 }, found.ends[0]),
    svg("text", { x: width - 2, y: height - 4, "text-anchor": "end" }, found.ends[1]),
  );
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "density", role: "img", "aria-label": `${title}: density in each class` }, ...parts);
}

function shares(state, found, title, large) {
  const most = large ? found.values.length : Math.min(found.values.length, 4);
  const right = Math.max(1e-9, ...found.bars, ...found.p.flat());
  const width = large ? 420 : 300;
  const X = (v) => 112 + (v / right) * (width - 126);
  const parts = [];
  for (let i = 0; i < most; i++) {
    const y = 19 * i;
    parts.push(
      svg("text", { x: 104, y: y + 14, "text-anchor": "end" }, short(found.values[i], 15)),
      svg("rect", { x: 112, y: y + 4, width: Math.max(X(found.bars[i]) - 112, 0.5), height: 12, class: "histogram" }),
      ...found.classes.map((k, j) => svg("circle", { cx: X(found.p[i][j]), cy: y + 10, r: 4, class: `dot ${colourOf(state, k)}` })),
    );
  }
  const hidden = found.values.length - most + found.more;
  if (hidden > 0) parts.push(svg("text", { x: 112, y: 19 * most + 12 }, `and ${hidden} more`));
  const height = 19 * most + (hidden > 0 ? 17 : 2);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "density", role: "img", "aria-label": `${title}: shares of values in each class` }, ...parts);
}

export function short(text, most) { // keeps both ends, because names often differ at the end
  const end = Math.floor((most - 1) / 2);
  return text.length > most ? `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}` : text;
}

// What a column adds to the log-odds, by its value.
export function dependence(state, found) {
  const all = found.curves.flatMap((c) => [...c.low, ...c.high]);
  const reach = Math.max(0.2, ...all.map(Math.abs)) * 1.08;
  const steps = found.x.map((x, i) => i).filter((i) => found.x[i] !== null);
  const who = found.curves.length === 1 ? nameOf(state, found.curves[0].class) : "each class";
  if (steps.length < 2) return dependenceList(state, found, reach);
  const x = [found.x[steps[0]], found.x[steps.at(-1)]];
  const missing = found.x.includes(null) ? `; missing: ${found.curves.map((c) => signedOdds(c.mean[found.x.indexOf(null)])).join(", ")}` : "";
  return chart({
    width: 420, height: 220, x, y: [-reach, reach], margin: { top: 8, right: 10, bottom: 36, left: 44 },
    xTicks: found.date ? false : undefined, xLabel: (found.date ? `${found.values[0]} … ${found.values[steps.at(-1)]}` : "value") + missing, yLabel: "log-odds",
    label: `Contribution of the value to the log-odds of ${who}`,
    bands: found.curves.length === 1 ? [{ points: steps.map((i) => [found.x[i], found.curves[0].low[i], found.curves[0].high[i]]), kind: colourOf(state, found.curves[0].class) }] : [],
    lines: [
      { points: [[x[0], 0], [x[1], 0]], kind: "zero" },
      ...found.curves.map((c) => ({ points: steps.map((i) => [found.x[i], c.mean[i]]), kind: colourOf(state, c.class), dash: dash(state, c.class) })),
    ],
    dots: found.curves.length === 1 ? steps.map((i) => ({ x: found.x[i], y: found.curves[0].mean[i], r: 3, kind: colourOf(state, found.curves[0].class) })) : [],
    said: found.curves.map((c) => `${nameOf(state, c.class)}: ${found.values.map((v, i) => `${v} ${number(c.mean[i], 2)}`).join(", ")}`).join("; "),
  });
}

function dependenceList(state, found, reach) {
  const X = (v) => 250 + (v / reach) * 150;
  const parts = [svg("path", { d: `M250 0V${20 * found.values.length}`, class: "axis" })];
  for (const [i, value] of found.values.entries()) {
    const y = 20 * i + 10;
    parts.push(svg("text", { x: 92, y: y + 4, "text-anchor": "end" }, short(value, 14)));
    for (const c of found.curves)
      parts.push(
        svg("path", { d: `M${X(c.low[i]).toFixed(1)} ${y}H${X(c.high[i]).toFixed(1)}`, class: `line ${colourOf(state, c.class)} thin` }),
        svg("circle", { cx: X(c.mean[i]).toFixed(1), cy: y, r: 4.5, class: `dot ${colourOf(state, c.class)}` }),
      );
  }
  return svg("svg", { viewBox: `0 0 420 ${20 * found.values.length + 2}`, class: "density", role: "img", "aria-label": `Contribution of each value to the log-odds: ${found.values.map((v, i) => `${v} ${number(found.curves[0].mean[i], 2)}`).join(", ")}` }, ...parts);
}

const tenths = (v) => (Math.abs(v) < 0.05 ? "0.0" : (v > 0 ? "+" : "") + number(v, 1));

// What two columns add together: a cell is blue or orange by its sign, and stronger the further it is from 0.
export function map(found) {
  const [rows, columns] = found.values;
  const most = Math.max(0.1, ...found.odds.flat().filter((v) => v !== null).map(Math.abs));
  const shade = (v) => (v === null ? "" : `${v >= 0 ? "right" : "wrong"}-${Math.min(3, Math.max(1, Math.ceil((3 * Math.abs(v)) / most)))}`);
  return html("table", { class: "matrix" },
    html("thead", {}, html("tr", {}, html("td", {}), ...columns.map((c) => html("th", { scope: "col" }, html("bdi", {}, c))))),
    html("tbody", {}, ...rows.map((r, i) => html("tr", {}, html("th", { scope: "row" }, html("bdi", {}, r)),
      ...columns.map((_, j) => html("td", { class: `cell ${shade(found.odds[i][j])}` }, found.odds[i][j] === null ? "" : tenths(found.odds[i][j])))))));
}

export const calibration = (found, whose) =>
  chart({
    ...SMALL, x: [0, 1], y: [0, 1], xLabel: "probability", yLabel: "share that came true", label: "Calibration",
    lines: [{ points: [[0, 0], [1, 1]], kind: "zero" }, { points: found.map((s) => [s.p, s.share]), kind: "c0" }],
    errors: found.map((s) => ({ x: s.p, low: s.low, high: s.high })),
    dots: found.map((s) => ({ x: s.p, y: s.share, kind: "c0", r: 2.5 + Math.min(4, Math.sqrt(s.rows / 40)) })),
    said: `${whose}: ${found.map((s) => `said ${percent(s.p)}, came true ${percent(s.share)}`).join("; ")}`,
  });
