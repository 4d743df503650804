import { element, find, setText, showIcon, showList } from "./elements.js";
import { longDuration } from "./times.js";

const iconNames = { down: "degraded", degraded: "warning", waiting: "paused" };

/** States shown without a duration: nobody waits for them to end. */
const timeless = new Set(["healthy", "waiting", "degraded", "unknown"]);

/** Formats the headline: the state and, where relevant, its duration. */
export function titleOf({ state, since, beganEarlier }, level, nowMs) {
  if (timeless.has(level) || since === undefined) return state;
  return `${state} for ${beganEarlier ? "more than " : ""}${longDuration(nowMs - Date.parse(since))}`;
}

/**
 * Shows the verdict at the top of the page, in the tab's title and as the tab's icon. Text for screen readers contains no running time,
 * because it would be announced again every two seconds.
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

/** Returns the subject of a status: the node's name, or the kind of service if there is no node. */
export function nameOf({ service, node }) {
  return node?.name ?? service;
}

/** Shows the name and kind. Values reported by the node are dimmed while the node does not respond. */
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
