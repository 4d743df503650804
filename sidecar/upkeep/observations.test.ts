import { describe, expect, it, test } from "vitest";
import { resolveVersion } from "./version/version-resolution.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { sidecarSettings } from "../settings.ts";
import { formatRestartCommand } from "./drivers/ops-location.ts";
import type { ConditionReport, ConditionType } from "#status/condition.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { createObservations, deriveConditions, type ConditionText, type Observations } from "./observations.ts";
import type { ConfigComparison } from "./config/config-observation.ts";
import type { Plan } from "./plan/plan.ts";
import type { UpgradeRecord } from "./state/upgrade-record.ts";

const settings = readSettings(sidecarSettings, {
  env: { GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/data/my node" },
});
const conditionText: ConditionText = {
  mode: "adopt",
  restartCommand: () => formatRestartCommand(settings, resolveNodeLayout(settings.node)),
  command: (verb) => `npx gatehouse-evm ${verb}`,
};

type Subject = Exclude<keyof Observations, "process">;

type Found = Readonly<{ [Noun in Subject]?: Partial<ReturnType<Observations[Noun]["now"]>> }>;

/** Derives the conditions from these findings; everything else is unknown. */
function conditions(found: Found, given = conditionText): readonly ConditionReport[] {
  const emptyStore = { get: () => undefined, set: () => undefined };
  const seen = createObservations(
    { directory: "/state", upgrade: emptyStore, dataEvidence: emptyStore },
    () => undefined,
  );
  for (const noun of Object.keys(found) as Subject[]) seen[noun].note(found[noun] ?? {});
  return deriveConditions(seen, given);
}

const plan = { steps: ["one", "two"], problems: ["three."], digest: "d" };
const createPlan = (...problems: Plan["problems"]): Plan => ({ actions: [], problems });
const drift: Plan = {
  actions: [{ kind: "write-config", text: "{}", changes: [] }],
  problems: [],
};
const createComparison = (plan_: Plan, more: Partial<Extract<ConfigComparison, { planned: Plan }>> = {}) => ({
  config: { comparison: { planned: plan_, result: undefined, idle: undefined, ...more } },
});
const resolution = resolveVersion({ setting: "0.16.2" });
const info = {
  autoPrune: true,
  reservedWindow: 10n,
  pruneReservedVersion: 90n,
  flushedVersion: 100n,
  realPruneReservedVersion: 80n,
};
const pruneCheck = { info, nowMs: 100_000, height: 50, stalledAfterMs: 60_000 };
const progress = { reserved: 80n, sinceMs: 99_000, sinceHeight: 40 };
const problem = { reason: "Truncated", message: "/n/node.conf:3:1 ends too soon." } as const;
const createFailure = (reason: "WriteFailed" | "BackupFailed" | "LockFailed" | "Locked") =>
  ({ ok: false, reason, message: "it can't be done" }) as const;
const atMs = Date.parse("2026-01-02T03:04:05.000Z");

const upgradeRecord: UpgradeRecord = {
  from: "0.15.0",
  to: "0.16.2",
  source: "/r",
  files: [],
  binDirectory: "/b",
  configPath: "/b/node.conf",
  directory: "/w",
  keepsCopy: false,
  beganMs: 1,
  stageSinceMs: 1,
  attempts: 0,
  interruptions: 0,
  stores: [{ path: "/data", copy: "/w/copy", aside: "/w/aside" }],
  before: { height: 5, autoPrune: true, tellsVersion: true },
  stage: "copying",
};
const cases: readonly (readonly [ConditionType, string, Found, string])[] = [
  ["Reconciling", "NotReconciledYet", { iterations: { result: "none" } }, "has not been checked yet"],
  [
    "Reconciling",
    "Reconciling",
    { iterations: { result: { madeAtMs: atMs } }, stored: { isChecked: true } },
    "completed at 2026-01-02T03:04:05.000Z. The sidecar's state is in /state.",
  ],
  [
    "Reconciling",
    "Stuck",
    {
      iterations: { result: { reason: "Stuck", message: "It hangs." } },
      stored: { isChecked: true, failure: { reason: "DiskFull", message: "Full." } },
    },
    "It hangs. Full. Until then",
  ],
  ["Reconciling", "WriteFailed", { stored: { isChecked: true, copyNotKept: "No copy." } }, "No copy."],
  ["VersionConsistent", "Consistent", { version: { resolution } }, "is 0.16.2 (node.version)."],
  [
    "VersionConsistent",
    "VersionUnknown",
    { version: { resolution: { disagreements: [], heard: ["the image is x"] } } },
    "the image is x, which is not a known version",
  ],
  [
    "ConfigReconciled",
    "Reconciled",
    { config: { ...createComparison(createPlan()).config, validity: { ok: true, path: "/n/node.conf" } } },
    "/n/node.conf matches the desired configuration.",
  ],
  [
    "ConfigReconciled",
    "Truncated",
    { config: { validity: { ok: false, problem, next: { restoredAtMs: atMs } } } },
    "it is restored at 2026-01-02T03:04:05.000Z unless",
  ],
  [
    "ConfigReconciled",
    "Truncated",
    { config: { validity: { ok: false, problem, next: { notRestored: "Not ours." } } } },
    "too soon. Not ours.",
  ],
  ["ConfigReconciled", "Reconciled", createComparison(createPlan()), "node.conf matches the desired configuration."],
  [
    "ConfigReconciled",
    "Reconciled",
    createComparison(createPlan({ reason: "CannotDisable", message: "it stays on" })),
    "matches the desired configuration",
  ],
  [
    "ConfigReconciled",
    "Locked",
    createComparison(drift, { result: createFailure("Locked") }),
    "node.conf differs from the desired",
  ],
  [
    "ConfigReconciled",
    "BackupFailed",
    createComparison(drift, { result: createFailure("BackupFailed") }),
    "it can't be done",
  ],
  [
    "ConfigReconciled",
    "Drift",
    createComparison(drift, { result: { ok: false, reason: "ChangedMeanwhile", message: "another" } }),
    "differs from the desired configuration",
  ],
  [
    "ConfigReconciled",
    "LockFailed",
    { config: { validity: { ok: false, problem, next: { failure: "LockFailed", message: "No lock." } } } },
    "too soon. No lock.",
  ],
  [
    "ConfigReconciled",
    "Contested",
    {
      config: {
        corrected: ["x", "y"],
        otherWriter: { kind: "contested", perMinute: 61, untilMs: atMs, path: "/n/node.conf" },
      },
    },
    "61 times within a minute: another program keeps writing it. Stop that program; only the sidecar may write the file. Last corrected: x; y.",
  ],
  [
    "ConfigReconciled",
    "Contested",
    { config: { otherWriter: { kind: "contested", perMinute: undefined, untilMs: atMs, path: "/n/node.conf" } } },
    "until 2026-01-02T03:04:05.000Z or until you run `npx gatehouse-evm resume`.",
  ],
  [
    "ConfigReconciled",
    "Contested",
    {
      config: {
        validity: { ok: false, problem, next: "stays" },
        otherWriter: { kind: "contested", perMinute: 61, untilMs: atMs, path: "/n/node.conf" },
      },
    },
    "too soon. Nothing is restored, and the node is not restarted until this is fixed; a running node keeps the configuration that it read at startup. node.conf was corrected 61 times within a minute",
  ],
  [
    "ConfigReconciled",
    "StartRewrites",
    { config: { corrected: ["x"], otherWriter: { kind: "start", path: "/n/node.conf" } } },
    "at each of the last two restarts. Last reverted: x. Set these values in the source of /n/node.conf",
  ],
  [
    "UpgradeVerified",
    "Upgrading",
    { upgrade: { record: upgradeRecord } },
    "is in progress: copying the data (step 2 of 5)",
  ],
  ["UpgradeVerified", "Blocked", { upgrade: { record: upgradeRecord, blocked: "No driver." } }, "No driver."],
  [
    "UpgradeVerified",
    "Verified",
    { upgrade: { record: { ...upgradeRecord, end: "committed" } } },
    "from 0.15.0 to 0.16.2 is verified.",
  ],
  [
    "UpgradeVerified",
    "RolledBack",
    {
      upgrade: {
        record: { ...upgradeRecord, end: "rolled-back", stage: "back-proving", failure: "its height stayed at 5" },
      },
    },
    "0.16.2 failed: its height stayed at 5. The data of 0.16.2 is in /w/aside; remove it once it is no longer needed: rm -r -- /w",
  ],
  [
    "UpgradeVerified",
    "RolledBack",
    {
      upgrade: {
        record: {
          ...upgradeRecord,
          end: "rolled-back",
          stage: "back-proving",
          directory: "/my disk/w",
          stores: [
            { path: "/my disk/data", copy: "/my disk/w/data", aside: "/my disk/w/aside" },
            { path: "/meta", copy: "/w2/data-2", aside: "/w2/aside" },
          ],
        },
      },
    },
    "is in /my disk/w/aside and /w2/aside; remove it once it is no longer needed: rm -r -- '/my disk/w' /w2",
  ],
  [
    "UpgradeVerified",
    "RollbackFailed",
    { upgrade: { record: { ...upgradeRecord, end: "stranded", stage: "back-data", note: "no space is left" } } },
    "so did the rollback, while restoring the old data: No space is left. Nothing more is attempted until gatehouse resume. To recover manually, stop the node, restore /data from /w/copy",
  ],
  [
    "UpgradeVerified",
    "ResolvedManually",
    {
      upgrade: { record: { ...upgradeRecord, end: "settled", stage: "back-data", failure: "its height stayed at 5" } },
    },
    "The upgrade from 0.15.0 to 0.16.2 failed, and so did the rollback; the node has since responded again, so nothing more is tried. 0.16.2 failed: its height stayed at 5. Its copies are kept; remove them once they are no longer needed: rm -r -- /w",
  ],
  ["DataIntact", "Intact", { data: { found: { kind: "sound" } } }, "still has its earlier blocks"],
  [
    "DataIntact",
    "Suspect",
    { data: { found: { kind: "suspect", sign: "block 7 is gone" } } },
    "Symptoms of corrupt data: block 7 is gone, unlike on every reference that has the block. If the node's log confirms it, replace the data with a snapshot (docs/runbooks/data-suspect.md).",
  ],
  [
    "DataIntact",
    "Inconclusive",
    {
      data: {
        found: { kind: "doubt", sign: "block 7 is gone", missing: ["a peer", "room"] },
      },
    },
    "Symptoms of corrupt data: block 7 is gone. Not ruled out: a peer; room. If the node's log",
  ],
  [
    "DataIntact",
    "NeverHealthy",
    { data: { found: { kind: "another-chain" } } },
    "a different genesis block than before",
  ],
  [
    "NotPaused",
    "NotPaused",
    { adoption: { plan, authority: "acts", adopted: { by: "command", atMs } } },
    "since 2026-01-02T03:04:05.000Z (gatehouse adopt).",
  ],
  [
    "NotPaused",
    "NotPaused",
    { adoption: { plan, authority: "acts", adopted: { by: "page", atMs } } },
    "since 2026-01-02T03:04:05.000Z (on the status page).",
  ],
  [
    "NotPaused",
    "NotPaused",
    { adoption: { plan, authority: "acts", adopted: { by: "earlier version", atMs } } },
    "(it acted on this node before).",
  ],
  [
    "NotPaused",
    "WaitingForApproval",
    { adoption: { plan, authority: "waits" } },
    "Plan: 1. one; 2. two. Not planned yet: three. To approve, run `npx gatehouse-evm adopt`.",
  ],
  [
    "NotPaused",
    "WaitingForApproval",
    { adoption: { plan: { steps: [], problems: [], digest: "" }, authority: "waits" } },
    "Plan: no changes.",
  ],
  ["Pruning", "Enabled", { prune: { autoPrune: { kind: "on" } } }, "reads 1"],
  ["Pruning", "DisabledBySetting", { prune: { autoPrune: { kind: "offAsDesired" } } }, "off, as desired"],
  ["Pruning", "CannotDisable", { prune: { autoPrune: { kind: "staysOn", message: "It stays." } } }, "It stays."],
  [
    "NotPaused",
    "NotPaused",
    { restarts: { hold: "none" }, adoption: { plan, authority: "acts" } },
    "The sidecar manages this node (adopted).",
  ],
  [
    "NotPaused",
    "Paused",
    { restarts: { hold: { message: "It fails." } }, adoption: { plan, authority: "waits" } },
    "It fails. Fix the cause, then run `npx gatehouse-evm resume`",
  ],
  ["RollbackReady", "NoRestarts", { restarts: { rollBack: { kind: "noRestarts" } } }, "never rolls back"],
  ["RollbackReady", "Ready", { restarts: { rollBack: { kind: "advanced", directory: "/s" } } }, "/s/healthy.conf."],
  ["RollbackReady", "Assumed", { restarts: { rollBack: { kind: "assumed", directory: "/s" } } }, "It is unverified"],
  [
    "RollbackReady",
    "BackupFailed",
    { restarts: { rollBack: { kind: "notKept", directory: "/s" } } },
    "Make /s writable",
  ],
  [
    "RollbackReady",
    "NotYet",
    { restarts: { rollBack: { kind: "nothing", because: "notYet" } } },
    "No rollback configuration yet",
  ],
  [
    "RollbackReady",
    "NoBackup",
    { restarts: { rollBack: { kind: "nothing", because: "unread" } } },
    "was changed long after the node loaded it",
  ],
  [
    "RollbackReady",
    "NoBackup",
    { restarts: { rollBack: { kind: "nothing", because: "unknown" } } },
    "No working node.conf is known",
  ],
  [
    "NoRestartPending",
    "EditRejected",
    { restarts: { settled: { rejectedEdit: "a key is missing." } } },
    "a key is missing. The node keeps running with the version it loaded. Correct node.conf; to use it anyway, restart the node manually (`cd '/data/my node/bin' && ./ops stop --force; ./ops start --config ./node.conf`).",
  ],
  [
    "NoRestartPending",
    "EditNotChecked",
    { restarts: { settled: { uncheckedEdit: "checking /keys hangs." } } },
    "is unknown: checking /keys hangs. The node keeps running with the version it loaded and is restarted once this can be checked; if you know that it starts, restart it manually (`cd '/data/my node/bin' && ./ops stop --force; ./ops start --config ./node.conf`).",
  ],
];

test("reports nothing about pruning before node_cli has printed anything", () => {
  expect(conditions({ prune: { autoPrune: { kind: "unknown" }, progress, lastCheck: pruneCheck } })).toEqual([]);
});

describe("derives conditions from observations", () => {
  const named = cases.map(([type, reason, found, text]) => ({ type, reason, found, text }));

  it.each(named)("$type is $reason: $text", ({ type, reason, found, text }) => {
    const reportedConditions = conditions(found);
    expect(reportedConditions.map((condition) => [condition.type, condition.reason])).toEqual([[type, reason]]);
    expect(reportedConditions[0]?.message).toContain(text);
    const status = reportedConditions[0]?.status ?? "Unknown";
    expect(conditionReasons[type][status]).toContain(reason);
  });

  it("are absent before the first check", () => {
    expect(conditions({})).toEqual([]);
  });

  it("are sorted by subject", () => {
    const found = { iterations: { result: "none" }, restarts: { hold: { message: "It fails." } } } as const;
    expect(conditions(found).map(({ type }) => type)).toEqual(["Reconciling", "NotPaused"]);
  });
});

test("shows no date if the sidecar may act because of its setting", () => {
  const reportedConditions = conditions(
    { adoption: { plan, authority: "acts" } },
    { ...conditionText, mode: "enforce" },
  );
  expect(reportedConditions).toEqual([
    {
      type: "NotPaused",
      status: "True",
      reason: "NotPaused",
      message: "upkeep.mode is enforce: the sidecar acts without approval.",
    },
  ]);
});

test("advises restarting a node with the tool of its own driver", () => {
  const given = { ...conditionText, restartCommand: () => undefined };
  const reportedConditions = conditions({ restarts: { settled: { rejectedEdit: "no key." } } }, given);
  expect(reportedConditions[0]?.message).toContain("manually (with its own tool)");
});
