import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createRecentEvents } from "#status/event-log.ts";
import { makeContext, openTestState } from "../../testing/upkeep-context.ts";
import type { AuditedConfig, UpkeepState } from "../state/upkeep-state.ts";
import { reportEdit } from "./audited-config.ts";
import type { ConfigContext } from "./config-context.ts";
import { hashContent, readConfigFile } from "./config-file.ts";
import { createConfigVersions, type ConfigVersions } from "./config-versions.ts";
import { createEditRate } from "./correction-rate.ts";

const limitBytes = 10_000;
const longMs = 60_000;
let nowMs = 0;
const clock = { monotonicMs: () => nowMs, wallMs: () => nowMs };
let path: string;
let state: UpkeepState;
let versions: ConfigVersions;
let context: ConfigContext;

beforeEach(async () => {
  nowMs = 0;
  state = await openTestState();
  path = join(state.directory, "node.conf");
  versions = createConfigVersions(state.directory);
  const place = { layout: () => ({ configPath: path }) };
  context = makeContext({
    state,
    versions,
    place,
    clock,
    events: createRecentEvents(clock),
    edits: createEditRate(clock),
  });
});

const save = (value: object) => writeFileSync(path, JSON.stringify({ chain: {}, ...value }));

/** Checks the file as a reconcile does; returns the messages reported so far, newest first. */
async function runIteration({
  auditedBefore = state.auditedConfig.get(),
  standsForMs: unchangedForMs = longMs,
}: Readonly<{ auditedBefore?: AuditedConfig | undefined; standsForMs?: number }> = {}): Promise<readonly string[]> {
  const reading = await readConfigFile(path, limitBytes);
  await reportEdit(reading, auditedBefore, context, unchangedForMs);
  return context.events.list().map(({ message }) => message);
}

/** Records the sidecar's own write as `replaceConfig` does: its start and, unless the sidecar was killed in between, its end. */
const ownWrite = (value: object, isKilled = false) => {
  const content = Buffer.from(JSON.stringify({ chain: {}, ...value }));
  const sha256 = hashContent(content);
  const begun = { path, sha256: state.auditedConfig.get()?.sha256, writing: sha256 };
  state.auditedConfig.set(isKilled ? begun : { path, sha256 });
  return content;
};

test("ignores the first content seen, and reports a later change once, with the keys but no values", async () => {
  save({ a: 1, kept: { b: "one" }, gone: true });
  expect(await runIteration()).toEqual([]);
  await versions.remember(
    "last-good",
    Buffer.from(JSON.stringify({ chain: {}, a: 1, kept: { b: "one" }, gone: true })),
  );
  save({ a: 1, kept: { b: "hunter2", "c d": 3 } });
  expect(await runIteration()).toEqual([
    'node.conf was changed by another program or user: kept.b changed, kept."c d" added, gone removed.',
  ]);
  expect(await runIteration()).toHaveLength(1);
});

test("never attributes the sidecar's own writes to others, even if a kill interrupted one", async () => {
  save({ a: 1 });
  await runIteration();
  writeFileSync(path, ownWrite({ a: 2 }));
  expect(await runIteration()).toEqual([]);
  const killedWrite = ownWrite({ a: 3 }, true);
  writeFileSync(path, killedWrite);
  expect(await runIteration()).toEqual([]);
  expect(state.auditedConfig.get()).toEqual({ path, sha256: hashContent(killedWrite) });
  save({ a: 1 });
  expect(await runIteration()).toHaveLength(1);
});

test("ignores content that was read before the sidecar's own write finished", async () => {
  save({ a: 1 });
  await runIteration();
  const auditedBefore = state.auditedConfig.get();
  ownWrite({ a: 2 });
  expect(await runIteration({ auditedBefore })).toEqual([]);
});

test("ignores a short-lived state left by an editor, but reports a file that stays invalid or missing", async () => {
  save({ a: 1 });
  await runIteration();
  rmSync(path);
  expect(await runIteration({ standsForMs: 100 })).toEqual([]);
  expect(await runIteration()).toEqual(["node.conf was removed by another program or user."]);
  writeFileSync(path, '{"chain": {');
  expect(await runIteration({ standsForMs: 100 })).toHaveLength(1);
  expect((await runIteration())[0]).toBe(
    "node.conf was changed by another program or user and is invalid (Truncated).",
  );
});

test("logs at most ten changes in ten minutes, then counts the rest in one line", async () => {
  save({ a: 0 });
  await runIteration();
  for (let a = 1; a <= 15; a += 1) {
    save({ a });
    await runIteration();
  }
  expect(await runIteration()).toHaveLength(10);
  nowMs = 600_000;
  expect((await runIteration())[0]).toMatch(/ 4 other edits since the previous entry were not logged\.$/);
  expect(state.auditedConfig.get()?.sha256).toBe(hashContent(Buffer.from(JSON.stringify({ chain: {}, a: 15 }))));
});
