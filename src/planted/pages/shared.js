"use strict";
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** An HTML element with properties and children; names with a dash or in lower case are attributes. */
function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** The same for SVG. */
function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** A number for a reader: four digits, a proper minus. */
function show(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = Number.isInteger(value) && size < 1e7 ? value.toLocaleString("en")
    : size < 1e-3 || size >= 1e6 ? value.toExponential(2) : String(Number(value.toPrecision(digits)));
  return text.replace(/-/g, "−");
}

/** Round positions between two ends, at most about `count`. */
function ticks(low, high, count = 5) {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const unit = [1, 2, 5, 10].map((m) => m * power).find((step) => span / step <= count) || 10 * power;
  const places = [];
  for (let place = Math.ceil(low / unit - 1e-9) * unit; place <= high + 1e-9 * span; place += unit) {
    places.push(Math.abs(place) < unit * 1e-9 ? 0 : Number(place.toPrecision(12)));
  }
  return places;
}

function download(name, type, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  document.body.append(link);
  link.click();
  link.remove();
}

/** A drawing as the text of a file of its own: colours of the current theme written out. */
function svgText(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", SVG_NAMESPACE);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  copy.setAttribute("style", `background:${colour("--card")};font:12px sans-serif`);
  return new XMLSerializer().serializeToString(copy).replace(/var\((--[a-z-]+)\)/g, (_, name) => colour(name));
}

/** A figure with its caption and a button that downloads it. */
function figure(svg, caption, name, ...tools) {
  const button = make("button", { type: "button", class: "small", "aria-label": `download figure ${name} as SVG`,
    onclick: () => download(`${name}.svg`, "image/svg+xml", typeof svg.text === "function" ? svg.text() : svgText(svg)) }, "SVG");
  return make("figure", { "data-name": name }, svg, make("figcaption", {}, make("span", {}, caption), make("span", {}, ...tools, button)));
}

/** A sortable table with a button that downloads it as CSV. */
function table(columns, rows, name, { caption = "", cell = null } = {}) {
  const collator = new Intl.Collator("en", { numeric: true });
  const body = make("tbody");
  const numeric = columns.map((_, column) => rows.every((values) => values[column] === null || typeof values[column] === "number"));
  const entries = rows.map((values) => ({ values, node: make("tr", {}, ...values.map((value, column) => {
    const head = column === 0 ? "th" : "td";
    const inside = cell && cell(value, column, values);
    return make(head, { scope: column === 0 ? "row" : undefined, class: numeric[column] ? "number" : undefined,
      "data-label": columns[column] }, inside || show(value));
  })) }));
  body.append(...entries.map((entry) => entry.node));
  const heads = columns.map((label, column) => {
    const head = make("th", { scope: "col", "data-head": label, class: numeric[column] ? "number" : undefined });
    head.append(make("button", { type: "button", onclick: () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const rank = (a, b) => (a === null ? 1 : b === null ? -1 : typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b));
      entries.sort((a, b) => (rising ? 1 : -1) * rank(a.values[column], b.values[column]));
      body.append(...entries.map((entry) => entry.node));
    } }, label));
    return head;
  });
  const quote = (value) => (value === null || value === undefined ? "" : /[",\n]/.test(String(value)) ? `"${String(value).replace(/"/g, '""')}"` : String(value));
  const csv = () => [columns, ...entries.map((entry) => entry.values)].map((row) => row.map(quote).join(",")).join("\n") + "\n";
  const long = rows.length > 25;
  const node = make("div", { "data-name": name },
    make("div", { class: `table${long ? " long" : ""}${columns.length > 4 && rows.length < 60 ? " stacked" : ""}`, tabindex: long ? 0 : undefined, role: long ? "group" : undefined, "aria-label": long ? `table ${name}` : undefined },
      make("table", {}, caption ? make("caption", {}, caption) : "", make("thead", {}, make("tr", {}, ...heads)), body)),
    make("p", { class: "tools" }, make("button", { type: "button", class: "small", "aria-label": `download table ${name} as CSV`,
      onclick: () => download(`${name}.csv`, "text/csv", csv()) }, "CSV")));
  node.csv = csv;
  return node;
}

/**
 * A chart of lines, points and bars.
 * @param {object[]} series  {x, y, kind: "line" | "points" | "bars" | "area", colour, label, size}
 */
function chart(series, { width = 460, height = 250, xLabel = "", yLabel = "", logY = false, logX = false, label = "", xRange = null, yRange = null, diagonal = false } = {}) {
  const named = series.filter((one) => one.label);
  const right = 12, top = named.length ? 28 : 12, bottom = 40;
  const spread = (axis) => { const values = series.flatMap((one) => one[axis]).filter((value) => value !== null && value > 0); return Math.max(...values) / Math.min(...values); };
  // A logarithmic axis needs something to span.
  if (logY && !(spread("y") > 3)) logY = false;
  const whole = series.every((one) => one.x.every(Number.isInteger));
  const usable = (value, log) => value !== null && Number.isFinite(value) && (!log || value > 0);
  const range = (axis, log) => {
    const values = series.flatMap((one) => one[axis]).filter((value) => usable(value, log));
    let low = Math.min(...values), high = Math.max(...values);
    if (!values.length) { low = log ? 0.1 : 0; high = 1; }
    if (axis === "y" && !log && series.some((one) => one.kind === "bars" || one.kind === "area")) { low = Math.min(low, 0); high = Math.max(high, 0); }
    if (log) { low = Math.log10(low); high = Math.log10(high); }
    if (high - low < 1e-4 * Math.max(Math.abs(low), Math.abs(high)) || high === low) { const room = Math.abs(high) * 0.1 || 0.5; low -= room; high += room; }
    const bars = axis === "x" ? series.filter((one) => one.kind === "bars" && one.x.length > 1).map((one) => 0.6 * Math.abs(one.x[1] - one.x[0])) : [];
    if (bars.length) return [low - Math.max(...bars), high + Math.max(...bars)];
    const room = log ? 0.05 * (high - low) : axis === "y" || diagonal ? 0.04 * (high - low) : 0.02 * (high - low);
    return [low - room, high + room];
  };
  const [x0, x1] = xRange || range("x", logX), [y0, y1] = yRange || range("y", logY);
  const marks = (low, high, log, count) => (log
    ? (high - low > 1.2 ? ticks(Math.ceil(low), Math.floor(high), count).filter(Number.isInteger) : ticks(low, high, 3)).map((power) => [10 ** power, Number.isInteger(power) ? `1e${power}`.replace("-", "−") : show(10 ** power, 3)])
    : ticks(low, high, count).map((value) => [value, show(value, 7)]));
  const yMarks = marks(y0, y1, logY, 5);
  const left = 28 + 7 * Math.max(3, ...yMarks.map(([, text]) => text.length));
  const X = (value) => left + (width - left - right) * ((logX ? Math.log10(value) : value) - x0) / (x1 - x0);
  const Y = (value) => height - bottom - (height - top - bottom) * ((logY ? Math.log10(value) : value) - y0) / (y1 - y0);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  const grid = "stroke:var(--line);stroke-width:1", words = "fill:var(--soft)";
  for (const [value, text] of marks(x0, x1, logX, 6).filter(([value]) => !whole || Number.isInteger(value))) {
    svg.append(draw("line", { x1: X(value), x2: X(value), y1: top, y2: height - bottom, style: grid }),
      draw("text", { x: X(value), y: height - bottom + 15, "text-anchor": "middle", style: words }, text));
  }
  for (const [value, text] of yMarks) {
    svg.append(draw("line", { x1: left, x2: width - right, y1: Y(value), y2: Y(value), style: grid }),
      draw("text", { x: left - 5, y: Y(value) + 4, "text-anchor": "end", style: words }, text));
  }
  if (diagonal) svg.append(draw("line", { x1: X(Math.max(x0, y0)), y1: Y(Math.max(x0, y0)), x2: X(Math.min(x1, y1)), y2: Y(Math.min(x1, y1)), style: "stroke:var(--soft);stroke-dasharray:4 3" }));
  series.forEach((one, index) => {
    const colour = `var(--${one.colour || ["first", "second", "third", "fourth"][index % 4]})`;
    const places = one.x.map((x, i) => [x, one.y[i]]).filter(([x, y]) => usable(x, logX) && usable(y, logY));
    if (one.kind === "bars" || one.kind === "area") {
      const step = places.length > 1 ? Math.abs(X(places[1][0]) - X(places[0][0])) : 20;
      const wide = Math.max(1, Math.min(one.kind === "area" ? step : 0.8 * step, 40));
      for (const [x, y] of places) {
        const zero = logY ? height - bottom : Y(0);
        svg.append(draw("rect", { x: X(x) - wide / 2, width: wide, y: Math.min(Y(y), zero), height: Math.max(Math.abs(Y(y) - zero), 0.5), style: `fill:${colour};opacity:${one.kind === "area" ? 0.18 : 0.75}` }));
      }
    } else if (one.kind === "points") {
      for (const [x, y] of places) svg.append(draw("circle", { cx: X(x).toFixed(1), cy: Y(y).toFixed(1), r: one.size || 2.5, style: `fill:${colour};opacity:.7` }));
    } else {
      svg.append(draw("path", { d: places.map(([x, y], i) => `${i ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join(""), style: `fill:none;stroke:${colour};stroke-width:2` }));
    }
  });
  svg.append(draw("text", { x: left + (width - left - right) / 2, y: height - 6, "text-anchor": "middle", style: "fill:var(--ink)" }, xLabel),
    draw("text", { transform: `translate(13 ${top + (height - top - bottom) / 2}) rotate(-90)`, "text-anchor": "middle", style: "fill:var(--ink)" }, yLabel));
  let along = left;
  for (const one of named) {
    const colour = `var(--${one.colour || ["first", "second", "third", "fourth"][series.indexOf(one) % 4]})`;
    svg.append(draw("rect", { x: along, y: 8, width: 10, height: 10, style: `fill:${colour}` }), draw("text", { x: along + 15, y: 17, style: "fill:var(--ink)" }, one.label));
    along += 34 + 7 * one.label.length;
  }
  return svg;
}

/** A button that turns the page dark or light; listeners of "themechange" draw again. */
function themeButton(button) {
  const root = document.documentElement;
  const current = () => root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const other = () => (current() === "dark" ? "light" : "dark");
  const name = () => { button.textContent = other(); button.setAttribute("aria-label", `turn the page ${other()}`); };
  name();
  button.addEventListener("click", () => { root.dataset.theme = other(); name(); dispatchEvent(new Event("themechange")); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { name(); dispatchEvent(new Event("themechange")); });
}
