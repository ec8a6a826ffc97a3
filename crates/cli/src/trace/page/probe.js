// Appended to a page by the tests: uses it as a reader would, and logs what is seen.
const failures = [];
addEventListener("error", (event) => failures.push(event.message));
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const painted = (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size;
};
window.opened.then(async () => {
  await frame();
  const { view, trace } = page, canvas = document.getElementById("timeline"), stage = document.getElementById("stage");
  const box = canvas.getBoundingClientRect(), out = { openMs: page.openMs, slices: trace.count };
  const press = (key) => stage.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const pointer = (type, x, y, more = {}) => canvas.dispatchEvent(new PointerEvent(type, {
    clientX: box.left + x, clientY: box.top + y, pointerId: more.id ?? 1, bubbles: true, ...more }));
  canvas.setPointerCapture = () => {};
  out.lanes = view.lanes.map((lane) => lane.name);
  out.colors = painted(canvas);
  out.wide = document.documentElement.scrollWidth - innerWidth;
  out.background = getComputedStyle(document.body).backgroundColor;

  const whole = view.to - view.from;
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -300, clientX: box.left + box.width / 2, clientY: box.top + 100, cancelable: true }));
  out.wheelZoom = (view.to - view.from) / whole;
  const before = view.from;
  press("ArrowRight");
  out.keyPan = (view.from - before) / (view.to - view.from);
  pointer("pointerdown", 500, 200);
  pointer("pointermove", 460, 200);
  const dragged = view.from;
  pointer("pointerup", 460, 200);
  out.dragPan = dragged > before;
  const span = view.to - view.from;
  pointer("pointerdown", 400, 200, { id: 1 });
  pointer("pointerdown", 500, 200, { id: 2 });
  pointer("pointermove", 600, 200, { id: 2 });
  pointer("pointerup", 600, 200, { id: 2 });
  pointer("pointerup", 400, 200, { id: 1 });
  out.pinchZoom = (view.to - view.from) / span;
  press("0");
  await frame();
  out.fit = [view.from <= 0, view.to >= view.total];
  out.arrows = view.arrowsShown;

  // Search selects the first match; hover and selection describe it.
  const search = document.getElementById("search");
  search.value = "copy h2d";
  search.dispatchEvent(new Event("input"));
  search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  out.matches = document.getElementById("matches").textContent;
  out.selected = document.getElementById("selection").textContent;
  out.spoken = document.getElementById("live").textContent;
  press("Enter");
  await frame();
  const lane = view.rowOf.get(view.rowIndex(view.selected));
  const x = view.x((trace.start[view.selected] + trace.end[view.selected]) / 2), y = view.laneTop(lane) + lane.height / 2;
  pointer("pointermove", x, y);
  out.tip = document.getElementById("tip").hidden ? null : document.getElementById("tip").textContent;
  const row = view.rowIndex(view.selected);
  press("ArrowDown");
  out.stepped = view.rowIndex(view.selected) !== row;
  press("Escape");
  press("0");
  press("r");
  out.statistics = document.getElementById("selection").textContent;
  const group = view.lanes.find((each) => each.kind === "group"), lanes = view.lanes.length;
  pointer("pointerdown", 40, view.laneTop(group) + 5);
  pointer("pointerup", 40, view.laneTop(group) + 5);
  out.folded = lanes - view.lanes.length;
  pointer("pointerdown", 40, view.laneTop(group) + 5);
  pointer("pointerup", 40, view.laneTop(group) + 5);
  document.getElementById("theme").click();
  out.otherBackground = getComputedStyle(document.body).backgroundColor;

  const times = [];
  press("Escape");
  view.fit();
  for (let i = 0; i < 24; i++) { view.draw(); times.push(view.frameMs); view.zoom(0.6, view.total * 0.37); }
  times.sort((a, b) => a - b);
  out.frameMs = times[times.length >> 1];
  out.drawn = view.drawn;
  out.failures = failures;
  console.log(`PROBE${JSON.stringify(out)}PROBE`);
});
