import { element, find, setText, showList } from "./elements.js";

/** The colour of the tab's icon by the verdict's level. */
const colours = {
  right: "#1a9c5b",
  working: "#2f80d8",
  wrong: "#e0a100",
  down: "#d93025",
  held: "#d93025",
  unknown: "#7a8694",
  stale: "#7a8694",
};

const iconNames = { down: "wrong", wrong: "wrong" };

/** Shows the verdict at the top, in the tab's title and as the tab's icon. */
export function showVerdict({ level, title, message }, name) {
  const verdict = find("#verdict");
  setText(find("#verdict-title"), title);
  setText(find("#verdict-message"), message);
  if (verdict.dataset.level === level) return;
  verdict.dataset.level = level;
  find("#verdict use").setAttribute("href", `#icon-${iconNames[level] ?? level}`);
  document.title = `${level}: ${name} · Gatehouse`;
  const dot = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4.5" cy="4.5" r="4" fill="${colours[level]}"/></svg>`;
  find("link[rel=icon]").href = `data:image/svg+xml,${encodeURIComponent(dot)}`;
}

/** Shows which node this is. */
export function showFacts({ name, rpc, chainId, clientVersion, height, latencyMs }, mode) {
  setText(find("#name"), name);
  const facts = [
    ["RPC", rpc],
    ["Chain", chainId ?? "not known"],
    ["Client", clientVersion ?? "not known"],
    ["Height", height?.toLocaleString("en") ?? "not known"],
    ["Answers in", latencyMs === undefined ? "not known" : `${Math.round(latencyMs)} ms`],
    ["Mode", mode],
  ];
  showList(find("#facts"), facts, ([term, value]) =>
    element("div", {}, element("dt", {}, term), element("dd", {}, String(value))),
  );
}
