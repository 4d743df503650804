import { element, find, icon, setText, showList } from "./elements.js";
import { listFigures } from "./figures.js";
import { refreshTimes, timeElement, timeOfDay } from "./times.js";

const intervalMs = 2_000;
const timeoutMs = 5_000;

const iconNames = { down: "degraded", degraded: "warning", waiting: "paused" };

/** States that need an operator's attention come first. */
const order = ["paused", "down", "stale", "degraded", "waiting", "working", "unknown", "healthy"];

function card({ name, page }) {
  return element(
    "li",
    { className: "target" },
    element("h2", {}, element("a", { href: page }, name)),
    element("p", { className: "state" }, icon("unknown"), element("b", {}), timeElement("", "since")),
    element("p", { className: "cause" }),
    element("dl", { className: "figures" }),
  );
}

function update(made, { level, state, cause, since, beganEarlier, page, answers, figures }) {
  made.dataset.level = level;
  made.querySelector("a").href = page;
  made.querySelector("use").setAttribute("href", `#icon-${iconNames[level] ?? level}`);
  setText(made.querySelector("b"), state);
  const time = made.querySelector(".state time");
  time.dateTime = since;
  time.dataset.kind = beganEarlier ? "earlier" : "since";
  setText(made.querySelector(".cause"), cause);
  listFigures(made.querySelector(".figures"), figures, { live: answers });
}

function summaryOf(targets) {
  const right = targets.filter(({ level }) => level === "healthy").length;
  const rest = targets.length - right;
  if (rest === 0) return right === 1 ? "It is healthy." : `All ${right} are healthy.`;
  return `${rest} of ${targets.length} ${rest === 1 ? "is" : "are"} not healthy.`;
}

function show({ at, targets }) {
  const sorted = targets.toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
  showList(find("#targets"), sorted, card, { keyOf: ({ name }) => name, update });
  const summary = summaryOf(targets);
  setText(find("#summary"), summary);
  document.title = `${summary} · Gatehouse`;
  refreshTimes(Date.parse(at));
  setText(find("#updated"), `Live: updated at ${timeOfDay(Date.now(), { seconds: true })}.`);
}

async function readStatus() {
  const response = await fetch("/overview", { signal: AbortSignal.timeout(timeoutMs), cache: "no-store" });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

setText(find("#time-zone"), Intl.DateTimeFormat().resolvedOptions().timeZone);
for (;;) {
  const answer = await readStatus().catch(() => undefined);
  document.body.classList.toggle("stale", answer === undefined);
  if (answer === undefined) {
    setText(find("#summary"), "The overview is not responding: the data below is old.");
    document.title = "Not responding · Gatehouse";
  } else show(answer);
  await new Promise((resolve) => setTimeout(resolve, intervalMs));
}
