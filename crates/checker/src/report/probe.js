// Appended to a page by the tests: measures what a reader would see and writes it into the page.
const errors = [];
const box = (node) => node.getBoundingClientRect();
const name = (node) => `${node.getAttribute("class")} ${JSON.stringify(node.textContent)}`;
const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
const light = (text) => {
  const [r, g, b] = rgb(text).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const drawings = [...document.querySelectorAll("svg")].map((svg) => {
  const frame = box(svg);
  const texts = [...svg.querySelectorAll("text")].filter((text) => !text.matches(".number"));
  for (const text of texts) {
    const b = box(text);
    if (b.width === 0) errors.push(`invisible: ${name(text)}`);
    if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
      errors.push(`outside: ${name(text)}`);
    for (const other of texts)
      if (other !== text && meet(b, box(other)) && text.compareDocumentPosition(other) & 4)
        errors.push(`overlap: ${name(text)} and ${name(other)}`);
  }
  const card = getComputedStyle(svg.closest("article")).backgroundColor;
  for (const text of texts) {
    const ratio = contrast(getComputedStyle(text).fill, card);
    if (ratio < 4.5) errors.push(`contrast ${ratio.toFixed(1)}: ${name(text)}`);
  }
  const hot = [...svg.querySelectorAll(".hot")].map((group) => {
    const bar = group.querySelector("rect, circle");
    return { role: group.querySelector(".role").textContent, width: box(bar).width, fill: getComputedStyle(bar).fill,
             hover: group.querySelector("title").textContent };
  });
  const gap = svg.querySelector(".gap");
  return { lanes: [...svg.querySelectorAll(".lane-name")].map((text) => text.textContent), hot,
           gap: gap && { length: gap.getTotalLength(), stroke: getComputedStyle(gap).stroke } };
});
for (const node of document.querySelectorAll("p, h2, li, summary")) {
  const card = getComputedStyle(node.closest("article") ?? document.body).backgroundColor;
  const ratio = contrast(getComputedStyle(node).color, card);
  if (ratio < 4.5) errors.push(`contrast ${ratio.toFixed(1)}: ${name(node)}`);
}
const wide = document.documentElement.scrollWidth - innerWidth;
if (wide > 0) errors.push(`the page is ${wide} pixels wider than the window`);
const out = document.createElement("script");
out.type = "application/json";
out.id = "probe";
out.textContent = JSON.stringify({ errors, drawings, background: getComputedStyle(document.body).backgroundColor });
document.body.append(out);
