import { commandBlock } from "./copy.js";
import { element, find, icon, showList, withCode } from "./elements.js";
import { timeElement } from "./times.js";

const icons = { critical: "degraded", warning: "warning", working: "working", unknown: "unknown" };

function stepItem({ text, command }) {
  return element("li", {}, withCode(text), ...(command === undefined ? [] : [commandBlock(command)]));
}

function consequence({ type, reason, title }) {
  return element(
    "li",
    {},
    element("b", {}, title),
    " ",
    element("code", {}, `${type}: ${reason}`),
    element("p", { className: "quiet", "data-message": "" }),
  );
}

function consequencesOf(consequences, severity) {
  if (consequences.length === 0) return [];
  const [verb, many] =
    consequences.length === 1
      ? ["check does not pass", "1 more"]
      : ["checks do not pass", `${consequences.length} more`];
  const names = consequences.map(({ title }) => title.charAt(0).toLowerCase() + title.slice(1)).join("; ");
  const why = severity === "working" ? "meanwhile" : "because of this";
  return [
    element(
      "details",
      {},
      element("summary", {}, `${many} ${verb} ${why}: ${names}`),
      element("ul", { className: "consequences" }, ...consequences.map(consequence)),
    ),
  ];
}

/** Returns one root cause: its title, the steps in order, and its consequences. */
function incidentItem({ severity, type, reason, title, since, steps, runbook, consequences }) {
  return element(
    "li",
    { className: "incident", "data-severity": severity },
    element("h3", {}, icon(icons[severity]), title),
    element(
      "p",
      { className: "quiet" },
      timeElement(since, "since"),
      " · ",
      element("code", {}, `${type}: ${reason}`),
      ...(runbook === undefined ? [] : [" · ", element("a", { href: runbook }, "runbook")]),
    ),
    element("p", { "data-message": "" }),
    ...(steps.length === 0 ? [] : [element("ol", { className: "steps" }, ...steps.map(stepItem))]),
    ...consequencesOf(consequences, severity),
  );
}

/** Returns a card's key. Messages are not part of it: they may contain a running time, whose change must not close a card that the reader has opened. */
function keyOf({ severity, type, reason, since, steps, consequences }) {
  return JSON.stringify([severity, type, reason, since, steps, consequences.map((one) => [one.type, one.reason])]);
}

function showMessages(card, { message, consequences }) {
  const messages = [message, ...consequences.map((one) => one.message)];
  for (const [index, place] of card.querySelectorAll("[data-message]").entries()) {
    if (place.dataset.message === messages[index] && place.hasChildNodes()) continue;
    place.dataset.message = messages[index];
    place.replaceChildren(withCode(messages[index]));
  }
}

export function showIncidents(incidents) {
  find("#to-do-section").hidden = incidents.length === 0;
  const isAtWork = incidents.length > 0 && incidents.every(({ severity }) => severity === "working");
  find("#to-do-heading").textContent = isAtWork ? "What is going on" : "What to do";
  showList(find("#to-do"), incidents, incidentItem, { keyOf, update: showMessages });
}
