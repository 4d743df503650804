import { element, find, icon, showList } from "./elements.js";
import { timeElement } from "./times.js";

const names = { True: "right", False: "wrong", Unknown: "unknown" };
const words = { True: "right", False: "wrong", Unknown: "not known" };

function machineName({ type, reason }) {
  return element("code", {}, `${type}: ${reason}`);
}

/** One thing that is wrong: what it is, what to do, since when. */
function problem(condition) {
  return element(
    "li",
    { "data-status": "False" },
    element("h3", {}, icon("wrong"), condition.title),
    element("p", {}, condition.message),
    element("p", { className: "quiet" }, timeElement(condition.since, "since"), " · ", machineName(condition)),
  );
}

function conditionItem(condition) {
  const { status, title, message, since } = condition;
  // What is wrong is told in full above.
  const told = status === "False" ? [] : [element("p", {}, message)];
  return element(
    "li",
    { "data-status": status },
    element("h3", {}, icon(names[status]), element("b", {}, title), element("span", {}, words[status])),
    ...told,
    element("p", { className: "quiet" }, timeElement(since, "since"), " · ", machineName(condition)),
  );
}

/** What a person has to mend comes first; a hold before all else. */
function byUrgency(a, b) {
  return Number(b.type === "Unheld") - Number(a.type === "Unheld");
}

/** Shows what is wrong, and all conditions: wrong, then not known, then right. */
export function showConditions(conditions) {
  const wrong = conditions.filter(({ status }) => status === "False").toSorted(byUrgency);
  find("#to-do-section").hidden = wrong.length === 0;
  showList(find("#to-do"), wrong, problem);
  const unknown = conditions.filter(({ status }) => status === "Unknown");
  const right = conditions.filter(({ status }) => status === "True");
  showList(find("#conditions"), [...wrong, ...unknown, ...right], conditionItem);
}
