import { element, find, setText, showIcon, showList } from "./elements.js";
import { longDuration } from "./times.js";

const iconNames = { down: "degraded", degraded: "warning", waiting: "paused" };

/** How long a state has lasted matters only where somebody waits for its end. */
const timeless = new Set(["healthy", "waiting", "degraded", "unknown"]);

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
  showIcon(level);
}

/** What a status is of: a node by its name, a service without one by what it is. */
export function nameOf({ service, node }) {
  return node?.name ?? service;
}

/** Shows what this is. What a node reported stands in quiet ink while it gives no answer. */
export function showName(status, { live }) {
  setText(find("#name"), nameOf(status));
  const { mode, service, tags: fixed = [] } = status;
  const { rpc, chainId, clientVersion, answers = true } = status.node ?? {};
  const isOld = !(live && answers);
  const tags = [
    ...(status.node === undefined ? [] : [{ text: service, isOld: !live }]),
    ...fixed.map((text) => ({ text, isOld: !live })),
    ...(chainId === undefined ? [] : [{ text: `chain ${chainId}`, isOld }]),
    ...(clientVersion === undefined ? [] : [{ text: clientVersion, isOld }]),
    ...(rpc === undefined ? [] : [{ text: rpc, isOld: !live }]),
    ...(mode === undefined || mode === "enforce" ? [] : [{ text: `mode ${mode}`, isOld: !live }]),
  ];
  showList(find("#tags"), tags, ({ text, isOld: old }) => element("li", old ? { className: "old" } : {}, text));
}
