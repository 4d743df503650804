import { element, find, setText, showList } from "./elements.js";
import { timeElement } from "./times.js";

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

const iconNames = { down: "wrong", wrong: "wrong", waiting: "held" };

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

const shown = (value, format = String) => (value === undefined ? "not known" : format(value));

/**
 * Shows which node this is. What the node told is old when it does not answer, and all of it when the sidecar does not (`live` false): then
 * it stands in quiet ink, with the time of the last answer.
 */
export function showFacts(node, mode, { live }) {
  const { name, rpc, chainId, clientVersion, height, latencyMs, answers, answeredAt } = node;
  setText(find("#name"), name);
  const isOld = !(live && answers);
  const facts = [
    { term: "RPC", text: rpc, isOld: !live },
    { term: "Chain", text: shown(chainId), isOld },
    { term: "Client", text: shown(clientVersion), isOld },
    { term: "Height", text: shown(height, (value) => value.toLocaleString("en")), isOld },
    {
      term: "Answers in",
      text: answers ? shown(latencyMs, (ms) => `${Math.round(ms)} ms`) : "no answer",
      isOld: !live,
    },
    ...(isOld && answeredAt !== undefined ? [{ term: "Last answer", at: answeredAt, isOld: false }] : []),
    { term: "Mode", text: mode, isOld: !live },
  ];
  showList(find("#facts"), facts, ({ term, text, at, isOld: old }) =>
    element(
      "div",
      {},
      element("dt", {}, term),
      element("dd", old ? { className: "old" } : {}, at === undefined ? text : timeElement(at, "at")),
    ),
  );
}
