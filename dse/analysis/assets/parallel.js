(() => {
  const HOST = document.getElementById("parallel");
  const TOP = 56, HEIGHT = 300, OFF = 26, BOTTOM = 26, MIN_GAP = 80;
  const MAX_LINES = 1500;
  const NS = "http://www.w3.org/2000/svg";
  const axes = [...DATA.dimensions.filter((d) => d.values.some((v) => v !== null)).map(fromDimension), ...DATA.objectives.map((key) => fromMetric(METRIC.get(key)))];
  if (axes.length < 2 || !DATA.trials.number.length) { document.getElementById("parallel-section").remove(); return; }
  let infeasible = true;
  const width = axes.length * Math.max(MIN_GAP, Math.floor(1080 / axes.length));
  const gap = width / axes.length;

  function scaled(values, log) {
    const known = values.filter((v) => v !== null && (!log || v > 0));
    const low = Math.min(...known), high = Math.max(...known);
    const f = log ? Math.log : (v) => v;
    const span = f(high) - f(low) || 1;
    return { low, high, at: (v) => (log && v <= 0 ? 0 : (f(v) - f(low)) / span) };
  }

  function fromDimension(d) {
    if (d.words) {
      const last = Math.max(d.words.length - 1, 1);
      return { label: d.label, values: () => d.values, at: (v) => v / last, marks: d.words.map((w, i) => [i, w]), spread: true };
    }
    const distinct = [...new Set(d.values.filter((v) => v !== null))].sort((a, b) => a - b);
    if (distinct.length <= 8) {
      const rank = new Map(distinct.map((v, i) => [v, i / Math.max(distinct.length - 1, 1)]));
      return { label: d.label, values: () => d.values, at: (v) => rank.get(v), marks: distinct.map((v) => [v, String(v)]), spread: true };
    }
    const scale = scaled(d.values, d.log && distinct[0] > 0);
    return { label: d.label, values: () => d.values, at: scale.at, marks: [[scale.low, String(scale.low)], [scale.high, String(scale.high)]] };
  }

  function fromMetric(m) {
    const numbers = DATA.views.flatMap((v) => v.values[m.key]);
    const scale = scaled(numbers, spread(numbers));
    return { label: titled(m), values: () => view().values[m.key], at: scale.at, marks: [[scale.low, scale.low.toFixed(m.decimals)], [scale.high, scale.high.toFixed(m.decimals)]] };
  }

  const xOf = (a) => gap * (a + 0.5);
  function yOf(a, i) {
    const value = axes[a].values()[i];
    if (value === null) return TOP + HEIGHT + OFF;
    const aside = axes[a].spread ? ((i % 9) - 4) * 0.9 : 0;
    return TOP + HEIGHT * (1 - axes[a].at(value)) + aside;
  }

  function node(tag, attributes, parent) {
    const made = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (parent) parent.appendChild(made);
    return made;
  }

  const svg = node("svg", { viewBox: `0 0 ${width} ${TOP + HEIGHT + OFF + BOTTOM}`, style: `min-width:${width}px`, role: "img", "aria-label": "parallel coordinates of every design" }, HOST);
  const lines = node("g", { fill: "none" }, svg);
  axes.forEach(drawAxis);

  function drawAxis(axis, a) {
    const group = node("g", {}, svg);
    const x = xOf(a);
    node("line", { x1: x, x2: x, y1: TOP, y2: TOP + HEIGHT, stroke: "#1b2127", "stroke-width": 1.2 }, group);
    wrap(axis.label).forEach((part, n, all) => label(group, x, TOP - 14 - 14 * (all.length - 1 - n), part, "middle", "600"));
    for (const [value, name] of axis.marks) {
      const y = TOP + HEIGHT * (1 - axis.at(value));
      node("line", { x1: x - 4, x2: x + 4, y1: y, y2: y, stroke: "#1b2127" }, group);
      label(group, x + 7, y + 4, name, "start", "400");
    }
    if (axis.values().some((v) => v === null)) label(group, x + 7, TOP + HEIGHT + OFF + 4, "inactive", "start", "400");
    axis.brush = node("rect", { x: x - 9, width: 18, y: TOP, height: 0, fill: COLOURS.pick, opacity: 0.25 }, group);
    const handle = node("rect", { class: "axis", x: x - 20, width: 40, y: TOP - 8, height: HEIGHT + 16, fill: "transparent" }, group);
    brushing(axis, handle);
  }

  function wrap(words) {
    const parts = [""];
    for (const w of words.split(" ")) {
      const last = parts[parts.length - 1];
      if (last && (last + " " + w).length * 7 > gap - 6) parts.push(w); else parts[parts.length - 1] = last ? `${last} ${w}` : w;
    }
    return parts.slice(0, 3);
  }

  function label(group, x, y, content, anchor, weight) {
    const made = node("text", { x, y, "text-anchor": anchor, "font-weight": weight, fill: "#1b2127", stroke: "#fff", "stroke-width": 3, "paint-order": "stroke" }, group);
    made.textContent = content;
  }

  function brushing(axis, handle) {
    const yAt = (event) => {
      const box = svg.getBoundingClientRect();
      return Math.min(TOP + HEIGHT, Math.max(TOP, ((event.clientY - box.top) / box.height) * (TOP + HEIGHT + OFF + BOTTOM)));
    };
    let from = null;
    handle.addEventListener("pointerdown", (event) => { from = yAt(event); axis.kept = null; handle.setPointerCapture(event.pointerId); event.preventDefault(); });
    handle.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = yAt(event);
      axis.kept = Math.abs(to - from) < 4 ? null : [Math.min(from, to) - 5, Math.max(from, to) + 5];
      axis.brush.setAttribute("y", Math.min(from, to));
      axis.brush.setAttribute("height", axis.kept ? Math.abs(to - from) : 0);
      shade();
    });
    handle.addEventListener("pointerup", () => { from = null; if (!axis.kept) axis.brush.setAttribute("height", 0); shade(); });
  }

  const kept = (i) => axes.every((axis, a) => { const y = yOf(a, i); return !axis.kept || (y >= axis.kept[0] && y <= axis.kept[1]); });

  function drawLines() {
    lines.replaceChildren();
    const onFront = new Set(view().front);
    const all = DATA.trials.number.map((_, i) => i);
    let rest = all.filter((i) => !onFront.has(i) && (infeasible || DATA.trials.worst[i] < 0));
    const step = Math.max(1, rest.length / MAX_LINES);
    rest = step === 1 ? rest : Array.from({ length: MAX_LINES }, (_, k) => rest[Math.floor(k * step)]);
    rest.sort((a, b) => (DATA.trials.worst[b] >= 0) - (DATA.trials.worst[a] >= 0) || a - b);
    for (const i of [...rest, ...view().front]) {
      const bad = DATA.trials.worst[i] >= 0;
      const d = axes.map((_, a) => `${a ? "L" : "M"}${xOf(a).toFixed(1)} ${yOf(a, i).toFixed(1)}`).join("");
      const style = onFront.has(i) ? { stroke: COLOURS.front, "stroke-width": 1.8 } : bad ? { stroke: "#d9b6a3", "stroke-width": 0.8, "stroke-dasharray": "4 3" } : { stroke: "#a9c5de", "stroke-width": 0.9 };
      const path = node("path", { d, "data-i": i, ...style }, lines);
      node("title", {}, path).textContent = `design ${DATA.trials.number[i]}`;
    }
    shade();
  }

  function shade() {
    for (const path of lines.children) {
      const i = Number(path.dataset.i);
      const chosen = i === state.picked;
      path.style.opacity = chosen ? 1 : kept(i) ? 0.85 : 0.06;
      path.style.stroke = chosen ? COLOURS.pick : "";
      path.style.strokeWidth = chosen ? 3 : "";
    }
  }

  const bar = document.getElementById("parallel-controls");
  if (DATA.trials.worst.some((w) => w >= 0)) {
    const wrapper = element("label", bar);
    const box = element("input", wrapper, { type: "checkbox", checked: true });
    wrapper.append("infeasible designs (dashed)");
    box.addEventListener("change", () => { infeasible = box.checked; drawLines(); });
  }
  lines.addEventListener("click", (event) => { const path = event.target.closest("path"); if (path) pick(Number(path.dataset.i)); });
  listeners.push(drawLines);
  drawLines();
})();
