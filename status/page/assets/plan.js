import { element, find, showList } from "./elements.js";

/** Shows what the sidecar would change, while it is awaiting an operator's approval or is only observing. */
export function showPlan(plan, conditions) {
  const pause = conditions.find(({ type }) => type === "NotPaused");
  const isWaiting = pause?.reason === "WaitingForApproval" || pause?.reason === "Observing";
  const { steps = [], problems = [] } = plan ?? {};
  find("#plan-section").hidden = !isWaiting || steps.length + problems.length === 0;
  const lines = [...steps, ...problems.map((problem) => `Not planned: ${problem}`)];
  showList(find("#plan"), lines, (line) => element("li", {}, element("p", {}, line)));
}
