// The page: pointer, keys, search, hover, selection and panels around the view.
"use strict";

const element = (id) => document.getElementById(id);

class Page {
  constructor(trace) {
    this.trace = trace;
    this.view = new View(trace, element("timeline"));
    this.pointers = new Map();
    new ResizeObserver(() => this.view.resize()).observe(element("stage"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.view.request());
    this.listen();
    this.view.resize();
    this.view.fit();
    this.showLegend();
  }

  listen() {
    const canvas = element("timeline"), view = this.view;
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x] = at(event), unit = event.deltaMode === 1 ? 16 : 1;
      if (x < view.gutter || event.altKey) return view.scrollBy(event.deltaY * unit);
      if (event.shiftKey) return view.pan((event.deltaY || event.deltaX) * unit);
      if (event.deltaX) view.pan(event.deltaX * unit);
      if (event.deltaY) view.zoom(Math.exp(Math.min(Math.max(event.deltaY * unit, -300), 300) * 0.0022), view.time(x));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      const [x, y] = at(event);
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x, y, x0: x, y0: y, isRange: event.shiftKey || y < RULER });
      canvas.classList.add("grabbing");
    });
    canvas.addEventListener("pointermove", (event) => this.move(event, at(event)));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.release(event, at(event)));
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("dblclick", (event) => { const i = view.sliceAt(...at(event)); if (i >= 0) this.zoomTo(i); });
    element("stage").addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement !== element("search")) { event.preventDefault(); element("search").focus(); }
      if (event.key === "?" && document.activeElement !== element("search")) element("help").showModal();
    });
    const search = element("search");
    search.addEventListener("input", () => this.search(search.value));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { search.value = ""; this.search(""); element("stage").focus(); }
    });
    const click = (id, action) => element(id).addEventListener("click", action);
    click("in", () => view.zoom(0.5));
    click("out", () => view.zoom(2));
    click("fit", () => view.fit());
    click("previous", () => this.next(-1));
    click("next", () => this.next(1));
    click("theme", () => this.changeTheme());
    click("keys", () => element("help").showModal());
    click("tab-selection", () => this.openTab("selection"));
    click("tab-summary", () => this.openTab("summary"));
    click("fold", () => { element("panel").classList.toggle("closed"); });
  }

  move(event, [x, y]) {
    const pointer = this.pointers.get(event.pointerId), view = this.view;
    if (!pointer) return this.hover(view.sliceAt(x, y), x, y);
    if (this.pointers.size === 2) {
      // Two fingers: the times under them stay under them.
      const other = [...this.pointers.entries()].find(([id]) => id !== event.pointerId)[1];
      pointer.isPinch = other.isPinch = true;
      const before = Math.abs(pointer.x - other.x), now = Math.abs(x - other.x);
      if (before > 8 && now > 8) view.zoom(before / now, view.time((pointer.x + other.x) / 2));
      view.pan((pointer.x - x) / 2);
      view.scrollBy((pointer.y - y) / 2);
    } else if (pointer.isRange) {
      const times = [view.time(Math.max(pointer.x0, view.gutter)), view.time(Math.max(x, view.gutter))].sort((a, b) => a - b);
      view.range = times[1] > times[0] ? times : null;
      view.request();
      this.describeRange();
    } else {
      view.pan(pointer.x - x);
      view.scrollBy(pointer.y - y);
    }
    pointer.x = x;
    pointer.y = y;
    this.hover(-1);
  }

  release(event, [x, y]) {
    const pointer = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    if (this.pointers.size === 0) element("timeline").classList.remove("grabbing");
    if (!pointer || pointer.isPinch || event.type === "pointercancel" || Math.hypot(x - pointer.x0, y - pointer.y0) > 4) return;
    const lane = this.view.laneAt(y);
    if (lane?.kind === "group") return this.fold(lane.name);
    const slice = this.view.sliceAt(x, y);
    if (slice < 0) { this.view.range = null; }
    this.select(slice);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const view = this.view, step = view.plot / 6;
    const actions = {
      ArrowLeft: () => view.pan(-step), a: () => view.pan(-step), ArrowRight: () => view.pan(step), d: () => view.pan(step),
      w: () => view.zoom(0.7), "+": () => view.zoom(0.7), "=": () => view.zoom(0.7), s: () => view.zoom(1.4), "-": () => view.zoom(1.4),
      0: () => view.fit(), Home: () => view.show(0, view.to - view.from), End: () => view.show(view.total - (view.to - view.from), view.total),
      PageDown: () => view.scrollBy(view.height / 2), PageUp: () => view.scrollBy(-view.height / 2),
      ArrowDown: () => this.stepLane(1), ArrowUp: () => this.stepLane(-1), "]": () => this.stepSlice(1), "[": () => this.stepSlice(-1),
      Enter: () => { if (view.selected >= 0) this.zoomTo(view.selected); }, n: () => this.next(1), N: () => this.next(-1),
      r: () => this.rangeOfView(), Escape: () => { view.range = null; this.select(-1); },
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  // Moves the selection to the next slice of the row, or the nearest slice of the next row.
  stepSlice(by) {
    const { view, trace } = this;
    if (view.selected < 0) return this.stepLane(1);
    const row = trace.rows[view.rowIndex(view.selected)];
    const next = Math.min(Math.max(view.selected + by, row.first), row.end - 1);
    this.select(next);
    this.reveal(next);
  }
  stepLane(by) {
    const { view, trace } = this, lanes = view.lanes.filter((lane) => lane.kind === "row");
    if (!lanes.length) return;
    const row = view.selected < 0 ? -1 : view.rowIndex(view.selected);
    let index = lanes.findIndex((lane) => lane.row === row);
    const time = view.selected < 0 ? (view.from + view.to) / 2 : trace.start[view.selected];
    index = Math.min(Math.max(index + by, 0), lanes.length - 1);
    const { first, end } = trace.rows[lanes[index].row];
    const next = Math.min(firstAbove(trace.end, first, end, time, true), end - 1);
    this.select(next);
    this.reveal(next);
  }

  reveal(i) {
    const { view, trace } = this, span = view.to - view.from, middle = (trace.start[i] + trace.end[i]) / 2;
    if (trace.end[i] < view.from || trace.start[i] > view.to) view.show(middle - span / 2, middle + span / 2);
    const lane = view.rowOf.get(view.rowIndex(i));
    const top = view.laneTop(lane);
    if (top < RULER) view.scrollBy(top - RULER - 8);
    if (top + lane.height > view.height) view.scrollBy(top + lane.height - view.height + 8);
  }
  zoomTo(i) {
    const { start, end } = this.trace, span = Math.max((end[i] - start[i]) * 4, 100), middle = (start[i] + end[i]) / 2;
    this.view.show(middle - span / 2, middle + span / 2);
    this.select(i);
    this.reveal(i);
  }
  fold(name) {
    const { collapsed } = this.view;
    if (!collapsed.delete(name)) collapsed.add(name);
    this.view.rowOf.clear();
    this.view.layLanes();
    this.view.request();
  }

  search(text) {
    const { view, trace } = this, words = text.trim().toLowerCase();
    if (!words) { view.found = null; element("matches").textContent = ""; return view.request(); }
    view.found = Uint8Array.from(trace.layout.texts, (name) => name.toLowerCase().includes(words) ? 1 : 0);
    let count = 0;
    for (let i = 0; i < trace.count; i++) count += view.found[trace.name[i]];
    element("matches").textContent = `${count.toLocaleString("en")} found`;
    view.request();
  }
  // Selects the match that begins next, or the one before.
  next(by) {
    const { view, trace } = this;
    if (!view.found) return;
    const now = view.selected >= 0 ? trace.start[view.selected] : by > 0 ? -1 : Infinity;
    let best = -1;
    for (const lane of view.lanes) {
      if (lane.kind !== "row") continue;
      const { first, end } = trace.rows[lane.row];
      for (let i = first; i < end; i++) {
        if (!view.found[trace.name[i]] || i === view.selected) continue;
        const isAhead = by > 0 ? trace.start[i] > now || (trace.start[i] === now && i > view.selected) : trace.start[i] < now;
        if (isAhead && (best < 0 || (by > 0 ? trace.start[i] < trace.start[best] : trace.start[i] > trace.start[best]))) best = i;
        if (isAhead && by > 0) break;
      }
    }
    if (best < 0) return;
    this.select(best);
    this.reveal(best);
  }

  // What is known about a slice, as pairs of a name and a value.
  facts(i) {
    const { trace } = this, { layout } = trace, row = trace.rows[this.view.rowIndex(i)], track = layout.tracks[row.track];
    const ns = trace.end[i] - trace.start[i], facts = [];
    const add = (name, value) => { if (value) facts.push([name, value]); };
    const thread = (id) => {
      const found = layout.tracks.find((other) => other.kind === "thread" && other.process === track.process && other.id === id);
      return found ? `${found.name} (${id})` : `thread ${id}`;
    };
    add("time", `${duration(ns)}, from ${duration(trace.start[i])}`);
    if (trace.entries[i] || trace.bytes[i]) {
      add("bytes", `${trace.bytes[i].toLocaleString("en")} (${size(trace.bytes[i])})`);
      add("bandwidth", trace.code[i] || trace.unfinished[i] ? "" : rate(trace.bytes[i], ns));
      add("from, to", layout.texts[trace.route[i]]);
      add("entries", trace.entries[i] > 1 ? String(trace.entries[i]) : "");
    }
    add("place", track.device === null ? `${track.name} (${track.id}), process ${track.process}`
      : `task ${trace.task[i]} of ${track.name}, device ${track.device}, process ${track.process}`);
    if (!Number.isNaN(trace.submitted[i])) {
      add("queued", duration(Math.max(trace.start[i] - trace.submitted[i], 0)));
      add("submitted by", thread(trace.submitter[i]));
      add("run by", trace.runner[i] ? thread(trace.runner[i]) : "");
    }
    add("waited for its stream", trace.blocked[i] ? `${duration(trace.blocked[i])}: the host memory is pageable` : "");
    add("failed", trace.code[i] ? `${trace.code[i]} (softacl explain ${trace.code[i]})` : "");
    add("not finished", trace.unfinished[i] && trace.kind[i] >= KINDS.task && trace.kind[i] !== KINDS.range ? "when the trace ended" : "");
    return facts;
  }
  list(i) {
    const list = document.createElement("dl");
    for (const [name, value] of this.facts(i)) {
      list.append(Object.assign(document.createElement("dt"), { textContent: name }),
                  Object.assign(document.createElement("dd"), { textContent: value }));
    }
    return list;
  }
  title(i) { return Object.assign(document.createElement("b"), { textContent: this.trace.layout.texts[this.trace.name[i]] }); }

  hover(i, x, y) {
    const tip = element("tip"), view = this.view;
    if (i !== view.hovered) { view.hovered = i; view.request(); }
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren(this.title(i), this.list(i));
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(Math.min(x + 14, view.width - width - 6), 2)}px`;
    tip.style.top = `${y + 18 + height < view.height ? y + 18 : Math.max(y - height - 12, 2)}px`;
  }

  select(i) {
    const selection = element("selection");
    this.view.selected = i;
    this.view.request();
    if (this.view.range) return this.describeRange();
    if (i < 0) {
      selection.replaceChildren(Object.assign(document.createElement("p"), { textContent: EMPTY }));
      return this.showLegend();
    }
    selection.replaceChildren(this.title(i), this.list(i));
    element("live").textContent = [this.trace.layout.texts[this.trace.name[i]], ...this.facts(i).map((fact) => fact.join(" "))].join(", ");
    this.openTab("selection");
  }
  rangeOfView() { this.view.range = [Math.max(this.view.from, 0), Math.min(this.view.to, this.view.total)]; this.view.request(); this.describeRange(); }

  describeRange() {
    const { view, trace } = this;
    if (!view.range) return;
    const [from, to] = view.range, { lines, busyCopies } = statistics(trace, from, to), selection = element("selection");
    const moved = lines.filter((line) => line.kind !== KINDS.call).reduce((sum, line) => sum + line.bytes, 0);
    const text = `${duration(to - from)} selected, from ${duration(from)}: ${size(moved)} moved` +
      `${moved ? ` at ${rate(moved, to - from)}, on average ${digits(busyCopies / (to - from))} copies at once` : ""}`;
    const table = document.createElement("table"), head = table.insertRow();
    for (const cell of ["name", "count", "time", "share", "longest", "moved", "rate", "failed"])
      head.append(Object.assign(document.createElement("th"), { textContent: cell }));
    for (const line of lines.slice(0, 60)) {
      const row = table.insertRow(), isCall = line.kind === KINDS.call;
      for (const cell of [line.name, line.count.toLocaleString("en"), duration(line.ns), `${digits(line.ns / (to - from) * 100)} %`,
                          duration(line.longest), isCall || !line.bytes ? "" : size(line.bytes), isCall ? "" : rate(line.bytes, line.ns), line.failed || ""])
        row.insertCell().textContent = cell;
    }
    const frame = Object.assign(document.createElement("div"), { className: "table" });
    frame.append(table);
    selection.replaceChildren(Object.assign(document.createElement("b"), { textContent: text }), frame);
    element("live").textContent = text;
    this.openTab("selection");
  }

  openTab(name) {
    element("panel").classList.remove("closed");
    for (const other of ["selection", "summary"]) {
      element(other).hidden = other !== name;
      element(`tab-${other}`).setAttribute("aria-selected", other === name);
    }
  }
  changeTheme() {
    const theme = this.view.isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    this.view.request();
    this.showLegend();
  }
  showLegend() {
    if (this.view.selected >= 0 || this.view.range) return;
    const colors = COLORS[this.view.isDark() ? "dark" : "light"], list = document.createElement("ul");
    list.className = "legend";
    const names = { call: "call", H2D: "host to device", D2H: "device to host", D2D: "within a device", P2P: "between devices",
                    kernel: "kernel or host function", task: "other task", wait: "wait (hatched)", warm: "stalled: queued, and the stream did nothing", hot: "failed" };
    for (const [key, text] of Object.entries(names)) {
      const item = document.createElement("li"), sample = document.createElement("i");
      sample.style.background = colors[key];
      item.append(sample, text);
      list.append(item);
    }
    element("selection").replaceChildren(Object.assign(document.createElement("p"), { textContent: EMPTY }), list);
  }
}

const EMPTY = "Click a bar to select it. Drag along the ruler, or drag with Shift, to select a range of time and see its statistics.";

async function open() {
  const started = performance.now(), status = element("status");
  try {
    const layout = JSON.parse(element("layout").textContent);
    const trace = readTrace(layout, await unpack(element("columns").textContent));
    if (trace.count === 0) { status.textContent = "The trace has no calls and no tasks."; return; }
    window.page = new Page(trace);
    status.hidden = true;
    requestAnimationFrame(() => { window.page.openMs = performance.now() - started; });
  } catch (error) {
    status.textContent = `The trace cannot be shown: ${error.message}`;
    throw error;
  }
}
window.opened = open();
