const svgNamespace = "http://www.w3.org/2000/svg";

/** Finds the one element that matches a selector. */
export function find(selector) {
  return document.querySelector(selector);
}

/** Creates an element from strings and elements. Strings are never parsed as HTML. */
export function element(name, { className, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (className !== undefined) made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function svgElement(name, attributes, ...children) {
  const made = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Returns one of the page's icons; the text next to an icon always gives its meaning. */
export function icon(name) {
  return svgElement("svg", { class: "icon", "aria-hidden": "true" }, svgElement("use", { href: `#icon-${name}` }));
}

/** Sets a text unless it is unchanged: a screen reader announces a live region at each change. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Returns a text in which words between backticks are rendered as code. */
export function withCode(text) {
  const made = document.createDocumentFragment();
  const parts = text.split(/`([^`]+)`/);
  made.append(...parts.map((part, index) => (index % 2 === 0 ? part : element("code", {}, part))));
  return made;
}

const keys = new WeakMap();

/**
 * Shows one element per item. Elements for unchanged items stay untouched, so that the reader's selection and scroll position survive
 * updates.
 *
 * @param same `keyOf`: returns an item's key, if that is less than the whole item; `update` then writes the rest
 */
export function showList(list, items, makeItem, { keyOf = JSON.stringify, update = () => undefined } = {}) {
  const kept = new Map([...list.children].map((child) => [keys.get(child), child]));
  const seen = new Map();
  const wanted = items.map((item) => {
    const text = keyOf(item);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    const key = `${count}:${text}`;
    const made = kept.get(key) ?? makeItem(item);
    keys.set(made, key);
    update(made, item);
    return made;
  });
  const stays = new Set(wanted);
  for (const child of Array.from(list.children)) if (!stays.has(child)) child.remove();
  for (const [index, child] of wanted.entries()) {
    if (list.children[index] !== child) list.insertBefore(child, list.children[index] ?? null);
  }
}

/** Colours for the tab's icon, by verdict level. */
const colours = {
  healthy: "#1a9c5b",
  working: "#2f80d8",
  degraded: "#e0a100",
  waiting: "#e0a100",
  down: "#d93025",
  paused: "#d93025",
  unknown: "#7a8694",
  stale: "#7a8694",
};

/** Draws the tab's icon: the product's icon in the colour of the given level. */
export function showIcon(level) {
  const path = find("#icon-gatehouse path").getAttribute("d");
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="${colours[level]}" d="${path}"/></svg>`;
  find("link[rel=icon]").href = `data:image/svg+xml,${encodeURIComponent(drawing)}`;
}
