import { element, find, setText, showList } from "./elements.js";

const brief = (value) => (value === 0 ? "0" : value.toLocaleString("en", { maximumSignificantDigits: 3 }));

function row(name, { requests, errors, limited }, most) {
  const made = element(
    "tr",
    {},
    element("th", { scope: "row" }, element("code", {}, name)),
    element("td", { className: "share" }, brief(requests)),
    element("td", errors > 0 ? { className: "bad" } : {}, brief(errors)),
    element("td", limited > 0 ? { className: "bad" } : {}, brief(limited)),
  );
  made.style.setProperty("--share", `${(100 * requests) / most}%`);
  return made;
}

function table({ title, rows }) {
  const most = Math.max(...rows.map(({ rates }) => rates.requests));
  const head = [title, "per second", "errors", "limited"];
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(({ name, rates }) => row(name, rates, most))),
  );
}

/** Limits after which a call may be retried later; the tables count these calls as limited. */
const isRetryable = new Set(["rate", "concurrency", "memory"]);

function listLimits(verb, rows) {
  const parts = rows.map(
    ({ tier, limit, perMinute }) => `tier ${tier} by ${limit}, ${brief(perMinute / 60)} per second`,
  );
  return parts.length === 0 ? "" : `${verb}: ${parts.join("; ")}. `;
}

/** Describes which callers are rejected, and by which limit. */
function limitedWords(limited) {
  const [later, never] = [true, false].map((again) => limited.filter(({ limit }) => isRetryable.has(limit) === again));
  return `${listLimits("Limited", later)}${listLimits("Rejected", never)}`.trim();
}

/** Shows the calls in the last minute by method and by tier, and the tiers that were limited. */
export function showTraffic(traffic) {
  const isQuiet = traffic === undefined || traffic.byMethod.length === 0;
  find("#no-traffic").hidden = !isQuiet;
  setText(find("#limited"), limitedWords(traffic?.limited ?? []));
  find("#limited").hidden = (traffic?.limited ?? []).length === 0;
  const tables = isQuiet
    ? []
    : [
        { title: "Method", rows: traffic.byMethod.map(({ method, ...rates }) => ({ name: method, rates })) },
        { title: "Tier", rows: traffic.byTier.map(({ tier, ...rates }) => ({ name: tier, rates })) },
      ];
  showList(find("#traffic"), tables, table);
}
