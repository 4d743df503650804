import { element, find, icon, setText, showList, withCode } from "./elements.js";
import { timeElement } from "./times.js";

const names = { True: "healthy", False: "degraded", Unknown: "unknown" };
const statuses = { True: "passes", False: "fails", Unknown: "not known" };

function sinceText(since, reason) {
  return [timeElement(since, "since"), " · ", element("code", {}, reason)];
}

function checkItem({ type, reason, status, title, message, since }) {
  return element(
    "li",
    { "data-status": status },
    icon(names[status]),
    element(
      "div",
      {},
      element("b", {}, title),
      element("span", { className: "hidden" }, `, ${statuses[status]}`),
      element("p", {}, withCode(message)),
      ...(since === undefined ? [] : [element("p", { className: "quiet" }, ...sinceText(since, `${type}: ${reason}`))]),
    ),
  );
}

export function showChecks(conditions) {
  const of = (wanted) => conditions.filter(({ status }) => status === wanted);
  const [right, wrong, unknown] = [of("True"), of("False"), of("Unknown")];
  const others = [
    ...(wrong.length === 0 ? [] : [`${wrong.length} fail`]),
    ...(unknown.length === 0 ? [] : [`${unknown.length} not known or off`]),
  ];
  const sentence = [`${right.length} of ${conditions.length} pass`, ...others].join(", ");
  setText(find("#checks-summary"), sentence);
  find("#checks-summary").dataset.status = wrong.length === 0 ? "True" : "False";
  showList(find("#checks"), [...wrong, ...unknown, ...right], checkItem);
}
