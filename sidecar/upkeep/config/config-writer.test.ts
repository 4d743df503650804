import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { AuditEntry } from "#daemon/audit/audit-log.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { auditEvents } from "../state/stored-event-log.ts";
import { makeContext, openTestState } from "../../testing/upkeep-context.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { hashContent, readConfigFile, type ConfigReading } from "./config-file.ts";
import { createConfigVersions } from "./config-versions.ts";
import { replaceConfig } from "./config-writer.ts";
import { createWriterLock } from "./writer-lock.ts";

const fileDeadline = { call: <Value>(_: string, call: () => Promise<Value>) => call(), hangs: () => false };
const limitBytes = 10_000;
const content = Buffer.from('{"b": 2}');
let path: string;
/** Entries in the audit log, each with the content of node.conf at that time. */
let auditEntries: (AuditEntry & { held: string })[];
let events: ReturnType<typeof auditEvents>;
let state: UpkeepState;

beforeEach(async () => {
  state = await openTestState();
  path = join(state.directory, "node.conf");
  writeFileSync(path, '{"a": 1}');
  auditEntries = [];
  const add = (entry: AuditEntry) => void auditEntries.push({ ...entry, held: readFileSync(path, "utf8") });
  events = auditEvents(createRecentEvents({ wallMs: () => 0, monotonicMs: () => 0 }), { add });
});

async function write(expectedHash: string | undefined, versions = createConfigVersions(state.directory)) {
  const reading = { ...(await readConfigFile(path, limitBytes)), contentHash: expectedHash } as ConfigReading;
  using lock = createWriterLock(path);
  const changes = [{ message: "node.conf: b is 2.", why: "it is desired" }];
  const place = { fileDeadline, lock: () => lock, layout: () => ({ configPath: path }) };
  const settings = { upkeep: { configLimitBytes: limitBytes } };
  return await replaceConfig(reading, content, changes, makeContext({ place, settings, versions, events, state }));
}

test("audits a write to node.conf before replacing the file, and its outcome afterwards", async () => {
  const hashBefore = { sha256: hashContent(readFileSync(path)) };
  const copy = expect.stringMatching(/\/versions\/\d{8}-[0-9a-f]{12}\.conf$/) as unknown;
  expect(await write(hashBefore.sha256)).toEqual({ ok: true, copy });
  const change = {
    action: "node-conf-written",
    by: "sidecar",
    before: hashBefore,
    after: { sha256: hashContent(content) },
  };
  expect(auditEntries).toMatchObject([
    { ...change, outcome: "unknown", message: "Begun: node.conf: b is 2.", held: '{"a": 1}' },
    { ...change, outcome: "success", message: "node.conf: b is 2.", held: '{"b": 2}' },
  ]);
  expect(events.list()).toMatchObject([{ kind: "write", message: "node.conf: b is 2." }]);
});

test("logs nothing for a cancelled write", async () => {
  expect(await write("another")).toMatchObject({ ok: false, reason: "ChangedMeanwhile" });
  expect(auditEntries).toEqual([]);
});

test("logs a failed write once, with the reason, however often it is retried", async () => {
  const versions = {
    ...createConfigVersions(state.directory),
    keep: () => Promise.reject(new Error("the disk is full")),
  };
  const sha256 = hashContent(readFileSync(path));
  for (let count = 0; count < 2; count += 1) {
    expect(await write(sha256, versions)).toMatchObject({ ok: false, reason: "BackupFailed" });
  }
  expect(auditEntries).toMatchObject([
    {
      action: "node-conf-written",
      outcome: "failure",
      message: "Not done: node.conf: b is 2.",
      reason: expect.stringContaining("the disk is full"),
      before: { sha256 },
      held: '{"a": 1}',
    },
  ]);
});
