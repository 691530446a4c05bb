"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const FONT = { family: "system-ui, -apple-system, Segoe UI, Roboto, Arial, DejaVu Sans, sans-serif", size: 13, color: "#1b2127" };
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
// Okabe-Ito, told apart by marks as well as by colour.
const LOOKS = [["#0072b2", "circle"], ["#d55e00", "square"], ["#00795a", "diamond"], ["#a3376f", "triangle-up"],
  ["#8a6d00", "x"], ["#3d3d3d", "cross"], ["#56b4e9", "triangle-down"], ["#7a4fb5", "star"]];
const state = { measure: 0, axis: 0, miss: false };
const text = (value) => String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function choose(label, options, chosen) {
  if (options.length < 2) return;
  const wrap = document.createElement("label");
  const select = document.createElement("select");
  wrap.append(label, select);
  options.forEach((option, i) => select.add(new Option(option, i)));
  select.addEventListener("change", () => { chosen(Number(select.value)); draw(); });
  document.getElementById("controls").append(wrap);
}

const plain = (value) => String(Number(value.toPrecision(6)));

function round(values) {
  const low = Math.min(...values), high = Math.max(...values);
  const steps = high / low > 1e5 ? [1] : [1, 2, 5];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1; power++) {
    for (const step of steps) found.push(step * 10 ** power);
  }
  return found;
}

function draw() {
  const measure = DATA.measures[state.measure];
  const axis = DATA.axes[state.axis];
  const ticks = round(axis.values);
  const kind = state.miss ? "miss" : "hit";
  const shown = (ratio) => 100 * (state.miss ? 1 - ratio : ratio);
  const traces = DATA.lines.map((line, i) => {
    const [colour, symbol] = LOOKS[i % LOOKS.length];
    return {
      type: "scatter", mode: "lines+markers", name: text(line.name) + (line.offline ? " (knows the future)" : ""), x: axis.values,
      y: measure.lines[i].map(shown),
      error_y: measure.errors[i] ? { type: "data", array: measure.errors[i].map((e) => 100 * e), thickness: 1 } : undefined,
      line: { color: colour, width: 2, dash: line.offline ? "dash" : "solid" }, marker: { color: colour, symbol, size: 7 },
      hovertemplate: `<b>${text(line.name)}</b> %{y:.2f} %<extra></extra>`,
    };
  });
  const top = shown(measure.ceiling);
  const room = state.miss ? [Math.max(0, top - 5), 100] : [0, Math.min(100, top * 1.12 + 0.5)];
  Plotly.react("curves", traces, {
    font: FONT, hovermode: "x unified", margin: { l: 60, r: 16, t: 12, b: 56 },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: { title: { text: axis.label }, type: "log", gridcolor: "#e3e7eb", tickvals: ticks, ticktext: ticks.map(plain), hoverformat: ".6~g" },
    yaxis: { title: { text: `${kind} ratio (% of ${measure.label})` }, range: room, gridcolor: "#e3e7eb", zeroline: false },
    shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: top, y1: top, line: { color: "#56606b", width: 1, dash: "dot" } }],
    annotations: [{ xref: "paper", x: 0, xanchor: "left", y: top, yanchor: "bottom", showarrow: false,
      text: `never evicting: ${top.toFixed(2)} %`, font: { color: "#56606b", size: 12 } }],
  }, CONFIG);
}

choose("of", DATA.measures.map((m) => m.label), (i) => { state.measure = i; });
choose("capacity in", DATA.axes.map((a) => a.unit), (i) => { state.axis = i; });
choose("show", ["hit ratio", "miss ratio"], (i) => { state.miss = i === 1; });
draw();
