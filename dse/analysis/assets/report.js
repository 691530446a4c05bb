"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const COLOURS = { front: "#00528c", feasible: "#6f9fc8", pick: "#d55e00", ink: "#1b2127", grid: "#e3e7eb" };
// Okabe-Ito, told apart by shape as well as by colour.
const MISSED = [["#d55e00", "x"], ["#8a6d00", "triangle-up"], ["#a3376f", "diamond"], ["#00795a", "square"], ["#5b5b5b", "cross"]];
const MEMBERS = [["#0072b2", "circle"], ["#d55e00", "square"], ["#00795a", "diamond"], ["#a3376f", "triangle-up"], ["#8a6d00", "x"], ["#3d3d3d", "cross"]];
const FONT = { family: "system-ui, -apple-system, Segoe UI, Roboto, Arial, DejaVu Sans, sans-serif", size: 13, color: COLOURS.ink };
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };
const TOUCH = window.matchMedia("(pointer: coarse)").matches;
const METRIC = new Map(DATA.metrics.map((m) => [m.key, m]));
const ORDER = "order";
const MAX_MARKS = 500;
const listeners = [];
const state = { view: 0, x: DATA.objectives[1] || ORDER, y: DATA.objectives[0], picked: null };

const view = () => DATA.views[state.view];
const text = (value) => String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const titled = (m) => (m.unit ? `${m.label} (${m.unit})` : m.label);
const axisTitle = (key) => (key === ORDER ? "designs evaluated" : titled(METRIC.get(key)));
const valuesOf = (key) => (key === ORDER ? DATA.trials.number : view().values[key]);

function shown(metric, value) {
  if (value === null || value === undefined) return "unknown";
  return `${value.toFixed(metric.decimals)} ${metric.unit}`.trim();
}

function dimensionText(dimension, i) {
  const value = dimension.values[i];
  if (value === null) return "inactive";
  return dimension.words ? dimension.words[value] : `${value} ${dimension.unit}`.trim();
}

function element(tag, parent, properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  parent.appendChild(made);
  return made;
}

function pick(i) {
  state.picked = i;
  for (const row of document.querySelectorAll("tr[data-design]")) {
    row.classList.toggle("picked", i !== null && Number(row.dataset.design) === DATA.trials.number[i]);
  }
  showPicked();
  for (const listener of listeners) listener();
}

function showPicked() {
  const panel = document.getElementById("picked");
  const i = state.picked;
  panel.replaceChildren();
  if (i === null) return;
  const missed = DATA.trials.misses[i];
  const standing = missed.length ? `misses ${missed.join("; ")}` : view().front.includes(i) ? "on the front" : "feasible";
  element("h3", panel, { textContent: `Design ${DATA.trials.number[i]}: ${standing}` });
  const list = element("dl", panel);
  const add = (term, value) => {
    const pair = element("div", list);
    element("dt", pair, { textContent: term });
    element("dd", pair, { textContent: value });
  };
  for (const dimension of DATA.dimensions) add(dimension.path, dimensionText(dimension, i));
  for (const metric of DATA.metrics) {
    const value = view().values[metric.key][i];
    if (value !== null) add(metric.label, shown(metric, value));
  }
}

function hover(i) {
  const lines = [`<b>design ${DATA.trials.number[i]}</b>`];
  for (const key of DATA.objectives) lines.push(`${text(METRIC.get(key).label)}: ${text(shown(METRIC.get(key), view().values[key][i]))}`);
  for (const dimension of DATA.dimensions) {
    if (dimension.values[i] !== null) lines.push(`${text(dimension.path)}: ${text(dimensionText(dimension, i))}`);
  }
  for (const miss of DATA.trials.misses[i]) lines.push(`misses ${text(miss)}`);
  return lines.join("<br>");
}

function spread(values) {
  const positive = values.filter((v) => v !== null && v > 0);
  return positive.length === values.filter((v) => v !== null).length && positive.length > 1 && Math.max(...positive) / Math.min(...positive) > 30;
}

function points(name, which, marker) {
  const x = valuesOf(state.x), y = valuesOf(state.y);
  return {
    type: "scatter", mode: "markers", name, marker,
    x: which.map((i) => x[i]), y: which.map((i) => y[i]), customdata: which,
    text: which.map(hover), hovertemplate: "%{text}<extra></extra>", hoverlabel: { align: "left" },
  };
}

function staircase() {
  const two = new Set(DATA.objectives.slice(0, 2));
  if (DATA.objectives.length !== 2 || !two.has(state.x) || !two.has(state.y) || state.x === state.y) return null;
  const x = valuesOf(state.x), y = valuesOf(state.y);
  const order = [...view().front].sort((a, b) => x[a] - x[b] || y[a] - y[b]);
  const shape = METRIC.get(state.x).direction === "min" ? "hv" : "vh";
  return {
    type: "scatter", mode: "lines", x: order.map((i) => x[i]), y: order.map((i) => y[i]), line: { color: COLOURS.front, width: 1.5, shape },
    hoverinfo: "skip", showlegend: false,
  };
}

function frontTraces() {
  const onFront = new Set(view().front);
  const all = DATA.trials.number.map((_, i) => i);
  const traces = DATA.constraints.map((constraint, c) => {
    const [color, symbol] = MISSED[c % MISSED.length];
    const which = all.filter((i) => DATA.trials.worst[i] === c);
    return points(`${text(constraint)} (${which.length})`, which, { color, symbol, size: 7, opacity: 0.65 });
  });
  const rest = all.filter((i) => DATA.trials.worst[i] < 0 && !onFront.has(i));
  traces.push(points(`feasible (${rest.length})`, rest, { color: COLOURS.feasible, size: 8, opacity: 0.75 }));
  const line = staircase();
  if (line) traces.push(line);
  traces.push(points(`on the front (${onFront.size})`, view().front, { color: COLOURS.front, size: 10 }));
  for (const [name, i, color] of [["knee", view().knee, COLOURS.ink], ["picked", state.picked, COLOURS.pick]]) {
    if (i === null || i === undefined) continue;
    const ring = points(name, [i], { color: "rgba(0,0,0,0)", size: 18, line: { color, width: 2.5 } });
    traces.push({ ...ring, hoverinfo: "skip", hovertemplate: null, showlegend: name === "knee" });
  }
  const base = view().base;
  if (base && base[state.x] != null && base[state.y] != null) {
    const said = `<b>the space's own scenario</b><br>${text(shown(METRIC.get(state.x), base[state.x]))}, ${text(shown(METRIC.get(state.y), base[state.y]))}`;
    traces.push({ type: "scatter", mode: "markers", name: "the space's own scenario", x: [base[state.x]], y: [base[state.y]], marker: { color: COLOURS.ink, symbol: "star", size: 13 }, text: [said], hovertemplate: "%{text}<extra></extra>" });
  }
  return traces.filter((t) => t.x.length > 0);
}

const marked = (values) => ({ tickvals: values, ticktext: values.map((v) => String(Number(v.toPrecision(6)))) });

// 1, 2, 5, 10, 20 ... over the range of the values.
function oneTwoFive(values) {
  const known = values.filter((v) => v !== null);
  const low = Math.min(...known) / 2, high = Math.max(...known) * 2;
  const all = [];
  for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade += 1) all.push(...[1, 2, 5].map((m) => m * 10 ** decade));
  return all.filter((v) => v >= low && v <= high);
}

function axis(title, values) {
  const log = spread(values);
  return {
    title: { text: title, standoff: 10 }, type: log ? "log" : "linear", automargin: true, gridcolor: COLOURS.grid, zeroline: false, linecolor: "#9aa5b1",
    ...(log ? marked(oneTwoFive(values)) : {}),
  };
}

function drawFront() {
  const narrow = document.body.clientWidth < 600;
  Plotly.react("front", frontTraces(), {
    font: FONT, margin: { l: narrow ? 44 : 64, r: 12, t: 12, b: 48 }, hovermode: "closest", dragmode: TOUCH ? false : "zoom", paper_bgcolor: "#fff", plot_bgcolor: "#fff",
    xaxis: axis(axisTitle(state.x), valuesOf(state.x)), yaxis: axis(axisTitle(state.y), valuesOf(state.y)),
    legend: { orientation: "h", x: 0, y: -0.16, yanchor: "top", xanchor: "left", font: { size: narrow ? 11 : 13 } },
  }, CONFIG);
}

function selector(parent, label, options, value, change) {
  const select = element("select", element("label", parent, { textContent: label }));
  for (const [key, name] of options) element("option", select, { value: key, textContent: name, selected: key === value });
  select.addEventListener("change", () => change(select.value));
}

function frontControls() {
  const bar = document.getElementById("front-controls");
  if (DATA.views.length > 1) {
    selector(bar, "At", DATA.views.map((v, i) => [String(i), v.member]), "0", (value) => { state.view = Number(value); pick(state.picked); });
  }
  const choices = [...DATA.metrics.map((m) => [m.key, titled(m)]), [ORDER, "designs evaluated"]];
  selector(bar, "Across", choices, state.x, (value) => { state.x = value; drawFront(); });
  selector(bar, "Up", choices, state.y, (value) => { state.y = value; drawFront(); });
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length % 2 ? sorted[(sorted.length - 1) / 2] : (sorted[sorted.length / 2 - 1] + sorted[sorted.length / 2]) / 2;
}

// The front and an even choice of the rest: more marks than this only hide each other.
function thinned(which, kept) {
  const step = Math.max(1, which.length / MAX_MARKS);
  return which.filter((i, k) => kept.has(i) || Math.floor(k / step) !== Math.floor((k - 1) / step));
}

// Medians by capacity; of many different capacities, by eight equal steps of the axis.
function trend(pairs, log) {
  const distinct = new Set(pairs.map(([c]) => c));
  const along = (c) => (log ? Math.log(c) : c);
  const low = along(Math.min(...distinct)), step = (along(Math.max(...distinct)) - low) / 8;
  const groups = new Map();
  for (const [c, hit] of pairs) {
    const group = distinct.size <= 8 ? c : Math.min(7, Math.floor((along(c) - low) / step));
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push([c, hit]);
  }
  return [...groups.keys()].sort((a, b) => a - b).map((g) => [median(groups.get(g).map(([c]) => c)), median(groups.get(g).map(([, hit]) => hit))]);
}

function tierTraces(tier) {
  const names = Object.keys(tier.hits);
  const onFront = new Set(DATA.views.flatMap((v) => v.front));
  const known = tier.capacity.filter((c) => c !== null);
  const log = Math.max(...known) / Math.min(...known) >= 4;
  return { log, traces: names.flatMap((name, m) => {
    const [color, symbol] = MEMBERS[m % MEMBERS.length];
    const which = DATA.trials.number.map((_, i) => i).filter((i) => tier.capacity[i] !== null && tier.hits[name][i] !== null);
    const aside = log ? (c) => c * (1 + 0.045 * (m - (names.length - 1) / 2)) : (c) => c;
    const line = trend(which.map((i) => [tier.capacity[i], tier.hits[name][i]]), log);
    const marks = thinned(which, onFront);
    const label = names.length > 1 ? text(name) : "designs";
    return [
      { type: "scatter", mode: "markers", name: label, legendgroup: name, customdata: marks, x: marks.map((i) => aside(tier.capacity[i])), y: marks.map((i) => tier.hits[name][i]),
        marker: { color, symbol, size: 6, opacity: 0.55, line: { color: COLOURS.ink, width: marks.map((i) => (onFront.has(i) ? 1.6 : 0)) } },
        text: marks.map((i) => `design ${DATA.trials.number[i]}<br>${tier.capacity[i]} GiB: ${tier.hits[name][i].toFixed(1)} %${names.length > 1 ? `<br>${label}` : ""}`), hovertemplate: "%{text}<extra></extra>" },
      { type: "scatter", mode: "lines", legendgroup: name, showlegend: false, hoverinfo: "skip", x: line.map(([c]) => aside(c)), y: line.map(([, hit]) => hit), line: { color, width: 2 } },
    ];
  }) };
}

function tierLegend() {
  const bar = document.getElementById("tiers-legend");
  const names = DATA.tiers.length ? Object.keys(DATA.tiers[0].hits) : [];
  if (names.length < 2) return;
  names.forEach((name, m) => {
    const entry = element("label", bar);
    element("span", entry, { className: "swatch" }).style.borderColor = MEMBERS[m % MEMBERS.length][0];
    entry.append(name);
  });
}

function drawTiers() {
  tierLegend();
  if (!DATA.tiers.length) document.getElementById("tiers-section").remove();
  const grid = document.getElementById("tiers");
  const boxes = DATA.tiers.map(() => element("div", element("div", grid), { className: "plot" }));
  DATA.tiers.forEach((tier, t) => {
    const box = boxes[t];
    const { log, traces } = tierTraces(tier);
    const without = tier.absent ? `, ${tier.absent} designs without it` : "";
    Plotly.newPlot(box, traces, {
      font: FONT, title: { text: `${text(tier.name)}${without}`, x: 0, xref: "paper", font: { size: 15 } }, margin: { l: 48, r: 8, t: 32, b: 44 }, hovermode: "closest", dragmode: TOUCH ? false : "zoom",
      xaxis: { title: { text: "capacity (GiB)" }, type: log ? "log" : "linear", gridcolor: COLOURS.grid, ...(log ? marked(ticks(tier.capacity)) : {}) },
      yaxis: { title: { text: "hit ratio (%)" }, rangemode: "tozero", gridcolor: COLOURS.grid, zeroline: false },
      showlegend: false,
    }, CONFIG);
    box.on("plotly_click", (event) => pick(event.points[0].customdata));
  });
}

function ticks(capacities) {
  const known = capacities.filter((c) => c);
  const low = Math.floor(Math.log2(Math.min(...known))), high = Math.ceil(Math.log2(Math.max(...known)));
  const step = Math.max(1, Math.ceil((high - low) / 7));
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, i) => 2 ** (low + i * step));
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((h) => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.key;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [p, q] = [key(a), key(b)];
      const order = p === "" || q === "" ? (p === "") - (q === "") : isNaN(p) || isNaN(q) ? p.localeCompare(q) : p - q;
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
  }));
  table.tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) pick(DATA.trials.number.indexOf(Number(row.dataset.design)));
  });
}

function printing() {
  const plots = [...document.querySelectorAll(".plot")];
  window.addEventListener("beforeprint", () => plots.forEach((p) => Plotly.relayout(p, { width: p.closest(".grid") ? 330 : 680, height: p.classList.contains("tall") ? 460 : 300 })));
  window.addEventListener("afterprint", () => plots.forEach((p) => Plotly.relayout(p, { width: null, height: null, autosize: true })));
}

function hintAtOverflow() {
  for (const box of document.querySelectorAll(".wide")) box.classList.toggle("overflowing", box.scrollWidth > box.clientWidth + 1);
}

if (DATA.trials.number.length) {
  frontControls();
  drawFront();
  document.getElementById("front").on("plotly_click", (event) => {
    const i = event.points[0].customdata;
    if (i !== undefined) pick(i);
  });
  listeners.push(drawFront);
  drawTiers();
  printing();
} else {
  for (const id of ["front", "picked", "tiers-section"]) document.getElementById(id).remove();
}
document.querySelectorAll("table.sortable").forEach(sortable);
window.addEventListener("load", hintAtOverflow);
window.addEventListener("resize", hintAtOverflow);
