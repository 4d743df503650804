import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hash } from "node:crypto";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import type { AuditEntry } from "#daemon/audit/audit-log.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { startedUpgrade } from "../../testing/started-upgrade.ts";
import { makeContext, readTestSettings } from "../../testing/upkeep-context.ts";
import { createConfigVersions } from "../config/config-versions.ts";
import { createWriterLock, type WriterLock } from "../config/writer-lock.ts";
import { auditEvents } from "../state/stored-event-log.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { runUpgrade, type UpgradePlatform } from "../../upgrade/run-upgrade.ts";
import { createHostPlatform } from "./host-platform.ts";
import type { StopStartContext } from "./stop-and-start.ts";

let root: string;
let auditEntries: AuditEntry[];
let record: UpgradeRecord;
let runs: boolean;

const text = (...path: string[]) => readFileSync(join(root, ...path), "utf8");

beforeEach(async () => {
  root = await makeTestDirectory();
  runs = false;
  auditEntries = [];
  for (const name of ["data", "bin", "new", "work/data", "work/programs"])
    mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, "data", "chain"), "of the new version");
  writeFileSync(join(root, "work", "data", "chain"), "old blocks");
  writeFileSync(join(root, "bin", "ops"), "new program");
  writeFileSync(join(root, "new", "ops"), "new program");
  writeFileSync(join(root, "work", "programs", "ops"), "old program");
  record = {
    ...startedUpgrade,
    source: join(root, "new"),
    files: [{ name: "ops", sha256: hash("sha256", "new program") }],
    binDirectory: join(root, "bin"),
    configPath: join(root, "bin", "node.conf"),
    directory: join(root, "work"),
    stores: [{ path: join(root, "data"), copy: join(root, "work", "data"), aside: join(root, "work", "aside") }],
    stage: "back-stopping",
    failedStage: "proving",
    failure: "its height stayed at 5",
  };
});

const neverEnd = () => {
  throw new Error("not a part of this test");
};

const settings = readTestSettings({ GATEHOUSE_SIDECAR_RESTART_TIMEOUT_MS: "1000" });

/** The platform of a node whose process is not visible, only its port. */
function createPlatform(lock?: WriterLock) {
  const driver = {
    name: "ops",
    restart: neverEnd,
    start: neverEnd,
    stop: async () => {
      runs = false;
      return {};
    },
  };
  const context = makeContext({
    settings,
    driver,
    holders: { now: async () => [], runs: async () => false },
    health: {
      check: async () =>
        runs
          ? { answers: 1 }
          : { answers: 0, failure: { reason: "ConnectionRefused", message: "", isPortClosed: true } },
    },
    place: {
      fileDeadline: { call: (_: string, call: () => unknown) => call() },
      lock: lock === undefined ? neverEnd : () => lock,
    },
    events: auditEvents(createRecentEvents(systemClock), { add: (entry) => void auditEntries.push(entry) }),
    state: { auditedConfig: { get: () => undefined, set: () => undefined } },
    versions: createConfigVersions(root),
  });
  return createHostPlatform(context as StopStartContext);
}

const noop = async () => undefined;
const otherStages = { "back-stopping": noop, "back-discarding": noop, "back-restarting": noop };

test.each(["copying", "installing", "back-installing", "back-data"] as const)(
  "%s changes nothing if a supervisor has started the node since it was stopped",
  async (stage) => {
    writeFileSync(join(root, "bin", "ops"), "as it was");
    runs = true;
    const failureFields = stage.startsWith("back-") ? {} : { failure: undefined, failedStage: undefined };
    const { record: ended } = await run({ ...record, ...failureFields, stage }, otherStages);
    expect(ended.note ?? ended.failure).toContain("something started the node");
    expect(text("bin", "ops")).toBe("as it was");
    expect(text("data", "chain")).toBe("of the new version");
    expect(text("work", "data", "chain")).toBe("old blocks");
  },
);

test("leaves the only copy of the data untouched if the old binaries can't be restored", async () => {
  // A directory in place of a program can't be replaced with the program.
  rmSync(join(root, "bin", "ops"));
  mkdirSync(join(root, "bin", "ops", "taken"), { recursive: true });
  const { record: ended } = await run(record);
  expect(ended).toMatchObject({ end: "stranded", stage: "back-installing" });
  expect(text("work", "data", "chain")).toBe("old blocks");
});

test("restores the old binaries together with the old data", async () => {
  const atProof: string[] = [];
  await run(record, { "back-proving": async () => void atProof.push(text("data", "chain"), text("bin", "ops")) });
  expect(atProof).toEqual(["old blocks", "old program"]);
  expect(text("work", "aside", "chain")).toBe("of the new version");
});

test("audits the restored node.conf by its SHA-256", async () => {
  using lock = createWriterLock(record.configPath);
  const [now, old] = ['{"new": 1}', '{"chain": {"monitor_config": {}, "startup_config": {}}}'];
  writeFileSync(record.configPath, now);
  writeFileSync(join(root, "work", "node.conf"), old);
  await createPlatform(lock).stages["back-installing"](record, { amend: async () => undefined, isResumed: false });
  expect(text("bin", "node.conf")).toBe(old);
  const sides = { before: { sha256: hash("sha256", now) }, after: { sha256: hash("sha256", old) } };
  expect(auditEntries).toMatchObject(
    ["unknown", "success"].map((outcome) => ({ action: "node-conf-written", outcome, ...sides })),
  );
});

function run(begun: UpgradeRecord, replacedStages: Partial<UpgradePlatform<UpgradeRecord>["stages"]> = {}) {
  const platform = createPlatform();
  return runUpgrade(
    begun,
    { isResumed: false },
    {
      platform: { ...platform, stages: { ...platform.stages, ...replacedStages } },
      remember: async () => undefined,
      clock: systemClock,
      signal: new AbortController().signal,
    },
  );
}
