// Axes, curves and handles that can be dragged, in SVG. All of a plot scales with the page.

import { set, svg } from "./dom.js";

function niceStep(span, count) {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((m) => m * power >= rough);
}

export function ticks([low, high], count = 5) {
  const step = niceStep(high - low, count);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}

const plain = (v) => String(v).replace("-", "−");

// A plot of x over [low, high] and y over [low, high], with margins for labels.
export function plot(panel, options) {
  const { width = 420, height = 380, x, y, xLabel = "", yLabel = "", label } = options;
  const margin = { top: 10, right: 12, bottom: 38, left: 44, ...options.margin };
  const box = {
    left: margin.left,
    top: margin.top,
    right: width - margin.right,
    bottom: height - margin.bottom,
  };
  const clip = `clip-${panel.name}-${panel.picture.childElementCount}`;
  const made = {
    box,
    x,
    y,
    X: (v) => box.left + ((v - made.x[0]) / (made.x[1] - made.x[0])) * (box.right - box.left),
    Y: (v) => box.bottom - ((v - made.y[0]) / (made.y[1] - made.y[0])) * (box.bottom - box.top),
    fromX: (p) => made.x[0] + ((p - box.left) / (box.right - box.left)) * (made.x[1] - made.x[0]),
    fromY: (p) => made.y[0] + ((box.bottom - p) / (box.bottom - box.top)) * (made.y[1] - made.y[0]),
  };
  const grid = svg("g", { class: "ex-axis", "aria-hidden": "true" });
  made.axes = () => {
    const lines = [];
    if (options.xTicks !== false)
      for (const v of options.xTicks ?? ticks(made.x, 6)) {
        const at = made.X(v);
        lines.push(
          svg("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "ex-grid" }),
          svg("text", { x: at, y: box.bottom + 15, "text-anchor": "middle" }, (options.xTell ?? plain)(v)),
        );
      }
    if (options.yTicks !== false)
      for (const v of options.yTicks ?? ticks(made.y, 5)) {
        const at = made.Y(v);
        lines.push(
          svg("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "ex-grid" }),
          svg("text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, String(v).replace("-", "−")),
        );
      }
    lines.push(
      svg("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle", class: "ex-label" }, xLabel),
      svg("text", {
        transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`,
        "text-anchor": "middle",
        class: "ex-label",
      }, yLabel),
    );
    grid.replaceChildren(...lines);
  };
  made.axes();
  made.layer = svg("g", { "clip-path": `url(#${clip})`, "aria-hidden": "true" });
  made.top = svg("g", {});
  made.svg = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label, class: "ex-plot" },
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", {
      x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top,
    }))),
    grid,
    made.layer,
    made.top,
  );
  made.add = (tag, attributes, ...children) => {
    const element = svg(tag, attributes, ...children);
    made.layer.append(element);
    return element;
  };
  made.place = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      made.svg.getScreenCTM().inverse(),
    );
    return [made.fromX(at.x), made.fromY(at.y)];
  };
  made.path = (points) =>
    points.map(([a, b], i) => `${i ? "L" : "M"}${made.X(a).toFixed(1)} ${made.Y(b).toFixed(1)}`).join("");
  made.curve = (f, steps = 160) =>
    made.path(Array.from({ length: steps + 1 }, (_, i) => {
      const v = made.x[0] + ((made.x[1] - made.x[0]) * i) / steps;
      return [v, f(v)];
    }));
  panel.picture.append(made.svg);
  return made;
}

// A point to drag, or to move with the arrow keys (Shift: ten steps). `move(x, y)` is told where to.
export function handle(plotted, options) {
  const { label, move, step = 0.1, kind = "", radius = 8, onRemove, onPick } = options;
  const made = svg(
    "g",
    {
      class: `ex-handle ${kind}`,
      tabindex: "0",
      role: "slider",
      "aria-label": label,
      "aria-roledescription": "point to drag",
      "aria-valuenow": "0",
    },
    svg("circle", { r: 20, class: "ex-target" }),
    options.shape ?? svg("circle", { r: radius, class: "ex-dot" }),
  );
  let at = [0, 0];
  let offset = null;
  made.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    event.stopPropagation();
    made.focus({ preventScroll: true });
    made.setPointerCapture(event.pointerId);
    const [x, y] = plotted.place(event);
    offset = [at[0] - x, at[1] - y];
    onPick?.();
  });
  // Else a finger scrolls the page: browsers heed touch-action on an outer SVG only.
  made.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  made.addEventListener("pointermove", (event) => {
    if (!offset) return;
    const [x, y] = plotted.place(event);
    move(x + offset[0], y + offset[1]);
  });
  const release = () => (offset = null);
  made.addEventListener("pointerup", release);
  made.addEventListener("pointercancel", release);
  made.addEventListener("dblclick", (event) => {
    event.preventDefault();
    event.stopPropagation();
    onRemove?.();
  });
  made.addEventListener("keydown", (event) => {
    const size = event.shiftKey ? 10 * step : step;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const way = moves[event.key];
    if (way) {
      event.preventDefault();
      if (options.flat) move(at[0] + (way[0] || way[1]) * size, at[1]);
      else move(at[0] + way[0] * size, at[1] + way[1] * size);
    } else if (onRemove && (event.key === "Delete" || event.key === "Backspace")) {
      event.preventDefault();
      onRemove();
    } else options.keys?.(event);
  });
  plotted.top.append(made);
  return {
    element: made,
    put(x, y, words) {
      at = [x, y];
      set(made, {
        transform: `translate(${plotted.X(x).toFixed(2)} ${plotted.Y(y).toFixed(2)})`,
        "aria-valuenow": Number(x.toFixed(3)),
        "aria-valuetext": words,
      });
    },
  };
}

// Where a function of x and y is 0, as a path: marching squares, whose pieces are joined so that a
// line can be dashed.
export function zeroLine(plotted, f, steps = 60) {
  const { x, y } = plotted;
  const at = (i, j) => [x[0] + ((x[1] - x[0]) * i) / steps, y[0] + ((y[1] - y[0]) * j) / steps];
  const values = [];
  for (let j = 0; j <= steps; j++) {
    values.push([]);
    for (let i = 0; i <= steps; i++) values[j].push(f(...at(i, j)));
  }
  // A crossing is named by the side of a square on which it lies; a square joins two of them.
  const places = new Map();
  const joined = new Map();
  const cross = (p, q) => {
    const [vp, vq] = [values[p[1]][p[0]], values[q[1]][q[0]]];
    if (vp < 0 === vq < 0 || !Number.isFinite(vp) || !Number.isFinite(vq)) return null;
    const name = [p, q].map(([i, j]) => j * (steps + 1) + i).sort((a, b) => a - b).join(" ");
    const share = vp / (vp - vq);
    const [a, b] = [at(...p), at(...q)];
    places.set(name, [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])]);
    if (!joined.has(name)) joined.set(name, []);
    return name;
  };
  for (let j = 0; j < steps; j++)
    for (let i = 0; i < steps; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const found = corners.map((p, c) => cross(p, corners[(c + 1) % 4])).filter(Boolean);
      for (let c = 0; c + 1 < found.length; c += 2) {
        joined.get(found[c]).push(found[c + 1]);
        joined.get(found[c + 1]).push(found[c]);
      }
    }
  const paths = [];
  const walk = (from) => {
    const points = [places.get(from)];
    for (let next = joined.get(from).pop(); next !== undefined; next = joined.get(from).pop()) {
      joined.set(next, joined.get(next).filter((name) => name !== from));
      points.push(places.get(next));
      from = next;
    }
    paths.push(plotted.path(points));
  };
  for (const ends of [1, 2]) for (const [name, others] of joined) if (others.length === ends) walk(name);
  return paths.join("");
}

export const ellipse = (plotted, [mx, my], { values, angle }, radius) =>
  `${plotted.path(Array.from({ length: 73 }, (_, i) => {
    const t = (i / 36) * Math.PI;
    const u = radius * Math.sqrt(values[0]) * Math.cos(t);
    const v = radius * Math.sqrt(Math.max(values[1], 0)) * Math.sin(t);
    return [
      mx + u * Math.cos(angle) - v * Math.sin(angle),
      my + u * Math.sin(angle) + v * Math.cos(angle),
    ];
  }))}Z`;
