import { drawChart } from "./chart.js";
import { showConditions } from "./conditions.js";
import { find, setText } from "./elements.js";
import { showEvents } from "./events.js";
import { showPlan } from "./plan.js";
import { duration, refreshTimes, timeOfDay } from "./times.js";
import { showFacts, showVerdict } from "./verdict.js";

/** Time between two updates, and until a question counts as unanswered. */
const intervalMs = 2_000;
const timeoutMs = 5_000;

/** The last answer, and by this page's clock when it came. */
let last;

function showCharts(charts, nowMs) {
  const { heights, pruned, prunable, stillAfterMs } = charts;
  drawChart("#height-chart", [{ name: "Block height", points: heights }], {
    nowMs,
    stillAfterMs: stillAfterMs.heights,
  });
  const pruning = [
    { name: "Pruned before version", points: pruned },
    { name: "may be pruned before", points: prunable },
  ];
  drawChart("#prune-chart", pruning, { nowMs, stillAfterMs: stillAfterMs.pruning });
}

function show(status) {
  showVerdict(status.verdict, status.node.name);
  showFacts(status.node, status.mode, { live: true });
  showConditions(status.conditions);
  showPlan(status.plan, status.conditions);
  showEvents(status.events);
  const nowMs = Date.parse(status.at);
  showCharts(status.charts, nowMs);
  refreshTimes(nowMs);
  setText(find("#updated"), `Live: updated at ${timeOfDay(Date.now(), { seconds: true })}.`);
}

/** Says loudly that what is shown is old; it stays, because it is the last that is known. */
function showStale(why) {
  const retry = `It is asked again every ${intervalMs / 1_000} seconds.`;
  const title = "The sidecar does not answer";
  if (last === undefined) {
    showVerdict({ level: "stale", title, message: `Nothing is known of the node: ${why}. ${retry}` }, "node");
    return;
  }
  const message = `What is below is old, and the node is not looked after: ${why}. Is the sidecar running, and can you reach its machine? ${retry}`;
  showVerdict({ level: "stale", title, message }, last.status.node.name);
  showFacts(last.status.node, last.status.mode, { live: false });
  const ageMs = Date.now() - last.atMs;
  setText(
    find("#updated"),
    `Stale: last updated at ${timeOfDay(last.atMs, { seconds: true })}, ${duration(ageMs)} ago.`,
  );
  const nowMs = Date.parse(last.status.at) + ageMs;
  showCharts(last.status.charts, nowMs);
  refreshTimes(nowMs);
}

async function ask() {
  const response = await fetch("/status", { signal: AbortSignal.timeout(timeoutMs), cache: "no-store" });
  if (!response.ok) throw new Error(`it answered with status ${response.status}`);
  return response.json();
}

/** Why there is no answer, as a person would say it. */
function words(error) {
  if (error.name === "TimeoutError") return `it did not answer within ${timeoutMs / 1_000} seconds`;
  return error instanceof TypeError ? "it can't be reached" : error.message;
}

async function update() {
  try {
    const status = await ask();
    last = { status, atMs: Date.now() };
    show(status);
  } catch (error) {
    showStale(words(error));
  }
  document.body.classList.toggle("stale", find("#verdict").dataset.level === "stale");
}

/** Waits for the next update; a page that is looked at again does not wait. */
function nextUpdate() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, intervalMs);
    const look = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      resolve();
    };
    document.addEventListener("visibilitychange", look, { once: true });
  });
}

setText(find("#time-zone"), Intl.DateTimeFormat().resolvedOptions().timeZone);
for (;;) {
  await update();
  await nextUpdate();
}
