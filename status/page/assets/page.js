import { showActions } from "./actions.js";
import { showBuyers } from "./buyers.js";
import { showCharts } from "./charts.js";
import { showChecks } from "./checks.js";
import { commandBlock } from "./copy.js";
import { element, find, setText } from "./elements.js";
import { showEvents } from "./events.js";
import { showFigures } from "./figures.js";
import { nameOf, showName, showVerdict, titleOf } from "./headline.js";
import { showIncidents } from "./incidents.js";
import { showPlan } from "./plan.js";
import { formatDuration, refreshTimes, timeOfDay } from "./times.js";
import { showTraffic } from "./traffic.js";

/** Interval between updates, and timeout for a request. */
const intervalMs = 2_000;
const timeoutMs = 5_000;

/** The last response, and the time at which it arrived by this page's clock. */
let last;

function isDiskLow({ conditions }) {
  return conditions.some(({ type, status }) => type === "DiskSpaceSufficient" && status === "False");
}

function show(status) {
  const { headline, verdict } = status;
  const nowMs = Date.parse(status.at);
  const title = titleOf(headline, verdict.level, nowMs);
  showVerdict({ level: verdict.level, state: headline.state, title, cause: headline.cause }, nameOf(status));
  showName(status, { live: true });
  showFigures(status.figures, { live: true, isDiskLow: isDiskLow(status) });
  showIncidents(status.incidents ?? []);
  showPlan(status.plan, status.conditions);
  showActions(status);
  showNodeParts(status, nowMs);
  showBuyers(status.buyers);
  showChecks(status.conditions);
  showPages(status);
  refreshTimes(nowMs);
  setText(find("#updated"), `Live: updated at ${timeOfDay(Date.now(), { seconds: true })}.`);
}

function showNodeParts({ history, events, traffic, node }, nowMs) {
  for (const part of ["charts", "changes", "traffic"]) find(`#${part}-section`).hidden = node === undefined;
  if (node === undefined) return;
  showCharts(history, events, nowMs);
  showEvents(events);
  showTraffic(traffic);
}

/** Linked pages without a status that the overview could check. */
const pagesWithoutStatus = new Set(["prometheus", "alertmanager", "grafana", "overview"]);

/** Targets that a shell takes literally. */
const plainTarget = /^[\w.:/=-]+$/;

/** Shows the command that serves the overview of all linked pages. */
function showOverviewCommand(pages) {
  const targets = pages
    .filter(({ name }) => !pagesWithoutStatus.has(name))
    .map(({ name, url }) => `${name}=${url}`)
    .filter((target) => plainTarget.test(target));
  find("#overview").hidden = targets.length < 2;
  find("#overview-command").replaceChildren(commandBlock(`gatehouse status --page --targets ${targets.join(" ")}`));
}

function showPages({ pages, runbooks }) {
  find("#runbooks").hidden = runbooks !== true;
  find("#pages").hidden = pages.length === 0;
  const links = pages.flatMap(({ name, url }, index) => [
    index === 0 ? "" : " · ",
    new URL(url).href === location.href ? element("b", {}, name) : element("a", { href: url }, name),
  ]);
  if (find("#pages").childElementCount === pages.length) return;
  find("#pages").replaceChildren(...links);
  showOverviewCommand(pages);
}

/** Shows a prominent warning that the data is old. The data stays on the page, because it is the latest that is known. */
function showStale(why) {
  const retry = `This page retries every ${intervalMs / 1_000} seconds.`;
  const service = last?.status.service ?? "service";
  const state = `The ${service.replace("-", " ")} is not responding`;
  if (last === undefined) {
    const cause = `No data yet: ${why}. ${retry}`;
    showVerdict({ level: "stale", state, title: state, cause }, "status");
    return;
  }
  const { status, atMs } = last;
  const worse = service === "sidecar" ? ", and reconciliation has stopped" : "";
  const cause = `The data below is old${worse}: ${why}. Check that it is running and that you can reach its machine. ${retry}`;
  showVerdict({ level: "stale", state, title: state, cause }, nameOf(status));
  showName(status, { live: false });
  showFigures(status.figures, { live: false, isDiskLow: isDiskLow(status) });
  const ageMs = Date.now() - atMs;
  setText(
    find("#updated"),
    `Stale: last updated at ${timeOfDay(atMs, { seconds: true })}, ${formatDuration(ageMs)} ago.`,
  );
  const nowMs = Date.parse(status.at) + ageMs;
  if (status.node !== undefined) showCharts(status.history, status.events, nowMs);
  refreshTimes(nowMs);
}

async function readStatus() {
  const response = await fetch("/status", { signal: AbortSignal.timeout(timeoutMs), cache: "no-store" });
  if (!response.ok) throw new Error(`it returned HTTP ${response.status}`);
  return response.json();
}

/** Describes in plain words why there was no response. */
function describeFailure(error) {
  if (error.name === "TimeoutError") return `it did not respond within ${timeoutMs / 1_000} seconds`;
  return error instanceof TypeError ? "it can't be reached" : error.message;
}

/** Reads the status and shows it. A response that this page can't display does not mean that the sidecar is unreachable. */
async function update() {
  try {
    const status = await readStatus().catch((error) => showStale(describeFailure(error)));
    if (status !== undefined) {
      last = { status, atMs: Date.now() };
      show(status);
    }
  } catch (error) {
    showStale(`this page can't show its response (${error.message}); reload the page`);
    throw error;
  } finally {
    document.body.classList.toggle("stale", find("#verdict").dataset.level === "stale");
  }
}

/** Waits for the next update. A page that becomes visible again is updated at once. */
function nextUpdate() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, intervalMs);
    const onVisible = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      resolve();
    };
    document.addEventListener("visibilitychange", onVisible, { once: true });
  });
}

setText(find("#time-zone"), Intl.DateTimeFormat().resolvedOptions().timeZone);
for (;;) {
  await update().catch(reportError);
  await nextUpdate();
}
