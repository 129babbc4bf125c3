// Opens what is folded, then looks: too wide, too faint, links, controls and pictures without a name.
for (const one of document.querySelectorAll("details")) one.open = true;

const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
function rgba(color) {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}
function luminance([r, g, b]) {
  const [x, y, z] = [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}
function background(element) {
  for (let e = element; e; e = e.parentElement) {
    const color = rgba(getComputedStyle(e).backgroundColor);
    if (color[3] === 255) return color;
  }
  return rgba(getComputedStyle(document.body).backgroundColor);
}
function contrast(one, other) {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

const faint = [];
let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || ["title", "desc"].includes(element.localName)) continue;
  if (!element.checkVisibility()) continue;
  texts += 1;
  const style = getComputedStyle(element);
  const color = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
  const value = contrast(rgba(color), background(element));
  if (value < 4.5) faint.push([value.toFixed(2), walker.currentNode.data.trim().slice(0, 60)]);
}
const root = document.documentElement;
const nameless = [...document.querySelectorAll("svg[role=img], a, [role=region], table")].filter(e => {
  const ids = (e.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean);
  if (ids.length) return !ids.every(id => document.getElementById(id)?.textContent.trim());
  if (e.localName === "table") return !e.caption;
  return !(e.getAttribute("aria-label") || e.textContent).trim();
}).map(e => e.outerHTML.slice(0, 120));
const regions = [...document.querySelectorAll("[role=region]")].map(e => `region ${e.getAttribute("aria-label")}`);
nameless.push(...[...document.querySelectorAll("th")].filter(e => !e.textContent.trim()).map(e => e.outerHTML));
const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
return {
  overflow: root.scrollWidth - root.clientWidth,
  faint, texts, nameless,
  links: [...document.links].map(a => a.href),
  resources: performance.getEntriesByType("resource").map(e => e.name),
  ids, twice: [...ids, ...regions].filter((id, at, all) => all.indexOf(id) !== at),
  scripts: document.scripts.length,
  outside: [...document.querySelectorAll("body > *")].filter(e => !e.matches("header, main, footer, a.skip")).length,
  headings: [...document.querySelectorAll("h1, h2, h3")].map(e => +e.localName[1]),
};
