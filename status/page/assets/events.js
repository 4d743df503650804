import { element, find, showList, withCode } from "./elements.js";
import { timeElement } from "./times.js";

/** Number of changes shown expanded; older changes are listed among the events. */
const changesShown = 8;

/** Kinds of events that are observations, not actions. */
const seen = new Set(["condition"]);

/** Labels of kinds whose name in the API is another word. */
const labels = { hold: "pause" };

function eventItem({ at, kind, message, why }) {
  return element(
    "li",
    { "data-event": kind },
    element("span", { className: "quiet at" }, timeElement(at, "clock")),
    element("code", {}, labels[kind] ?? kind),
    element(
      "p",
      {},
      withCode(message),
      ...(why === undefined ? [] : [" ", element("span", { className: "why quiet" }, "Why: ", withCode(why))]),
    ),
  );
}

export function showEvents(events) {
  const changes = events.filter(({ kind }) => !seen.has(kind)).slice(0, changesShown);
  find("#no-changes").hidden = changes.length > 0;
  find("#no-events").hidden = events.length > 0;
  showList(find("#changes"), changes, eventItem);
  showList(find("#events"), events, eventItem);
}
