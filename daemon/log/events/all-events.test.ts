import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { logEventChapters, logEvents } from "./all-events.ts";

const root = join(import.meta.dirname, "../../..");
const rooms = "{daemon,devnet,engine-proxy,facilitator,gateway,health,node,resource-server,sidecar,status}";
const sources = globSync(`${rooms}/**/*.ts`, { cwd: root })
  .filter((path) => !path.endsWith(".test.ts") && !path.includes("/testing/") && !path.startsWith("daemon/log/events/"))
  .map((path) => readFileSync(join(root, path), "utf8"));

// The reverse needs no test: a log line whose event is not in the table does not compile.
test("each event in the table is logged somewhere", () => {
  const writtenEvents = new Set(sources.flatMap((text) => [...text.matchAll(/"([a-z-]+)"/g)].map(([, name]) => name)));
  expect(Object.keys(logEvents).filter((name) => !writtenEvents.has(name))).toEqual([]);
});

test("no two chapters share an event name", () => {
  const names = Object.values(logEventChapters).flatMap(Object.keys);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test("every event that may need an operator has an action, and each runbook exists", () => {
  const rows = Object.entries(logEvents);
  const eventsWithoutAdvice = rows.filter(
    ([, { level, act, runbook }]) => level !== "info" && (act ?? runbook) === undefined,
  );
  expect(eventsWithoutAdvice).toEqual([]);
  const lost = rows.filter(([, { runbook }]) => runbook && !existsSync(join(root, `docs/runbooks/${runbook}.md`)));
  expect(lost).toEqual([]);
});
