const svgNamespace = "http://www.w3.org/2000/svg";

/** Finds the one element that a selector names. */
export function find(selector) {
  return document.querySelector(selector);
}

/** Makes an element of texts and elements. Texts are never read as HTML. */
export function element(name, { className, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (className !== undefined) made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Makes an SVG element. */
export function svgElement(name, attributes, ...children) {
  const made = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** One of the page's icons; what it shows always stands beside it in words. */
export function icon(name) {
  return svgElement("svg", { class: "icon", "aria-hidden": "true" }, svgElement("use", { href: `#icon-${name}` }));
}

/** Sets a text, unless it is there already: a screen reader speaks a live region at each change. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

const keys = new WeakMap();

/**
 * Shows one element for each item. Elements of items that are the same as before stay untouched, so that a reader's selection
 * and place in the list are kept while the page updates.
 */
export function showList(list, items, makeItem) {
  const kept = new Map([...list.children].map((child) => [keys.get(child), child]));
  const seen = new Map();
  const wanted = items.map((item) => {
    const text = JSON.stringify(item);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    const key = `${count}:${text}`;
    const made = kept.get(key) ?? makeItem(item);
    keys.set(made, key);
    return made;
  });
  const stays = new Set(wanted);
  for (const child of Array.from(list.children)) if (!stays.has(child)) child.remove();
  for (const [index, child] of wanted.entries()) {
    if (list.children[index] !== child) list.insertBefore(child, list.children[index] ?? null);
  }
}
