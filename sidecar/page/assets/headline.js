import { element, find, setText, showList } from "./elements.js";
import { longDuration } from "./times.js";

/** The colour of the tab's icon by the verdict's level. */
const colours = {
  right: "#1a9c5b",
  working: "#2f80d8",
  wrong: "#e0a100",
  waiting: "#e0a100",
  down: "#d93025",
  held: "#d93025",
  unknown: "#7a8694",
  stale: "#7a8694",
};

const iconNames = { down: "wrong", wrong: "warning", waiting: "held" };

/** How long a state has lasted matters only where somebody waits for its end. */
const timeless = new Set(["right", "waiting", "wrong", "unknown"]);

/** Words the headline: the state and, where it counts, for how long. */
export function titleOf({ state, since, beganEarlier }, level, nowMs) {
  if (timeless.has(level) || since === undefined) return state;
  return `${state} for ${beganEarlier ? "more than " : ""}${longDuration(nowMs - Date.parse(since))}`;
}

/**
 * Shows the verdict at the top, in the tab's title and as the tab's icon. What a screen reader announces has no running time in it: it
 * would be spoken again every two seconds.
 */
export function showVerdict({ level, state, title, cause }, name) {
  const verdict = find("#verdict");
  setText(find("#verdict-title"), title);
  setText(find("#verdict-cause"), cause);
  setText(find("#announcement"), `${state}. ${cause}`);
  document.title = `${state}: ${name} · Gatehouse`;
  if (verdict.dataset.level === level) return;
  verdict.dataset.level = level;
  find("#verdict use").setAttribute("href", `#icon-${iconNames[level] ?? level}`);
  const dot = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4.5" cy="4.5" r="4" fill="${colours[level]}"/></svg>`;
  find("link[rel=icon]").href = `data:image/svg+xml,${encodeURIComponent(dot)}`;
}

/** Shows which node this is. What the node reported stands in quiet ink while it gives no answer. */
export function showName({ name, rpc, chainId, clientVersion, answers }, mode, { live }) {
  setText(find("#name"), name);
  const isOld = !(live && answers);
  const tags = [
    ...(chainId === undefined ? [] : [{ text: `chain ${chainId}`, isOld }]),
    ...(clientVersion === undefined ? [] : [{ text: clientVersion, isOld }]),
    { text: rpc, isOld: !live },
    ...(mode === "enforce" ? [] : [{ text: `mode ${mode}`, isOld: !live }]),
  ];
  showList(find("#tags"), tags, ({ text, isOld: old }) => element("li", old ? { className: "old" } : {}, text));
}
