import { describe, expect, it, test } from "vitest";
import { resolveVersion } from "./version/version-resolution.ts";
import type { ConditionReport, ConditionType } from "#status/condition.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { observeAdoption } from "./adoption/adoption-observation.ts";
import { deriveConditions, type ConditionText, type Observations } from "./conditions.ts";
import { observeConfig, type ConfigComparison } from "./config/config-observation.ts";
import type { Plan } from "./plan/plan.ts";
import { observeData } from "./corruption/data-observation.ts";
import { observePruning } from "./prune/prune-observation.ts";
import { observeRestarts } from "./restart/restart-observation.ts";
import { observeState } from "./state/state-observation.ts";
import type { UpgradeRecord } from "./state/upgrade-record.ts";
import { observeUpgrade } from "./upgrade/upgrade-observation.ts";
import { observeVersion } from "./version/version-observation.ts";

const words: ConditionText = { mode: "adopt", driver: "ops", command: (verb) => `npx gatehouse-evm ${verb}` };

const nothing: Observations = {
  state: observeState("/state").now(),
  version: observeVersion().now(),
  config: observeConfig().now(),
  adoption: observeAdoption().now(),
  prune: observePruning().now(),
  restarts: observeRestarts().now(),
  upgrade: observeUpgrade(undefined, undefined).now(),
  data: observeData().now(),
};

type Found = Readonly<{ [Noun in keyof Observations]?: Partial<Observations[Noun]> }>;

/** Derives the conditions of these findings, with everything else unknown. */
function conditions(found: Found, given = words): readonly ConditionReport[] {
  const seen = {
    state: { ...nothing.state, ...found.state },
    version: { ...nothing.version, ...found.version },
    config: { ...nothing.config, ...found.config },
    adoption: { ...nothing.adoption, ...found.adoption },
    prune: { ...nothing.prune, ...found.prune },
    restarts: { ...nothing.restarts, ...found.restarts },
    upgrade: { ...nothing.upgrade, ...found.upgrade },
    data: { ...nothing.data, ...found.data },
  };
  return deriveConditions(seen, given);
}

const plan = { steps: ["one", "two"], problems: ["three."], digest: "d" };
const planned = (...problems: Plan["problems"]): Plan => ({ actions: [], problems });
const drift: Plan = {
  actions: [{ kind: "write-config", text: "{}", changes: [] }],
  problems: [],
};
const compared = (plan_: Plan, more: Partial<Extract<ConfigComparison, { planned: Plan }>> = {}) => ({
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
const look = { info, nowMs: 100_000, height: 50, stalledAfterMs: 60_000 };
const progress = { reserved: 80n, sinceMs: 99_000, sinceHeight: 40 };
const due = { cause: "configuration", reason: "node.conf changed", urgent: false } as const;
const problem = { reason: "Truncated", message: "/n/node.conf:3:1 ends too soon." } as const;
const failed = (reason: "WriteFailed" | "BackupFailed" | "LockFailed" | "Locked") =>
  ({ ok: false, reason, message: "it can't be done" }) as const;
const atMs = Date.parse("2026-01-02T03:04:05.000Z");

const preCopy = { request: { source: "/releases/0.16.2" }, digest: "d1" };

const upgraded: UpgradeRecord = {
  from: "0.15.0",
  to: "0.16.2",
  source: "/r",
  files: [],
  binDirectory: "/b",
  configPath: "/b/node.conf",
  directory: "/w",
  method: "auto",
  keepsCopy: false,
  beganMs: 1,
  stageSinceMs: 1,
  attempts: 0,
  interruptions: 0,
  stores: [{ path: "/data", copy: "/w/copy", aside: "/w/aside" }],
  before: { height: 5, autoPrune: true, tellsVersion: true },
  stage: "copying",
  newRan: false,
};
const cases: readonly (readonly [ConditionType, string, Found, string])[] = [
  ["StateWritable", "Writable", { state: { isLookedAt: true } }, "/state"],
  [
    "StateWritable",
    "DiskFull",
    { state: { isLookedAt: true, failure: { reason: "DiskFull", message: "Full." } } },
    "Full. Until then",
  ],
  ["StateWritable", "WriteFailed", { state: { isLookedAt: true, copyNotKept: "No copy." } }, "No copy."],
  ["VersionConsistent", "Consistent", { version: { resolution } }, "is 0.16.2 (node.version)."],
  [
    "VersionConsistent",
    "Mismatch",
    { version: { resolution: { ...resolution, disagreements: ["a says 1", "b says 2"] } } },
    "But a says 1, and b says 2; correct",
  ],
  [
    "VersionConsistent",
    "Mismatch",
    { version: { resolution, doubtOfPlace: "it is elsewhere" } },
    "But it is elsewhere.",
  ],
  [
    "VersionConsistent",
    "VersionUnknown",
    { version: { resolution: { disagreements: [], heard: [] } } },
    "nothing shows it",
  ],
  [
    "VersionConsistent",
    "VersionUnknown",
    { version: { resolution: { disagreements: [], heard: ["the image is x"] } } },
    "the image is x, which names no version",
  ],
  ["ConfigValid", "Valid", { config: { validity: { ok: true, path: "/n/node.conf" } } }, "/n/node.conf can be used."],
  [
    "ConfigValid",
    "Truncated",
    { config: { validity: { ok: false, problem, next: "stays" } } },
    "too soon. The last good one stays in force.",
  ],
  [
    "ConfigValid",
    "Truncated",
    { config: { validity: { ok: false, problem, next: { restoredAtMs: atMs } } } },
    "is written back at 2026-01-02T03:04:05.000Z unless",
  ],
  [
    "ConfigValid",
    "Truncated",
    { config: { validity: { ok: false, problem, next: { notRestored: "Not ours." } } } },
    "too soon. Not ours.",
  ],
  ["ConfigReconciled", "Reconciled", compared(planned()), "node.conf matches the desired configuration."],
  [
    "ConfigReconciled",
    "Reconciled",
    compared(planned({ reason: "CannotDisable", message: "it stays on" })),
    "matches the desired configuration",
  ],
  [
    "ConfigReconciled",
    "VersionUnknown",
    compared(planned({ reason: "VersionUnknown", message: "the version is not known" })),
    "The version is not known",
  ],
  [
    "ConfigReconciled",
    "EditRejected",
    compared(planned({ reason: "EditRejected", message: "node.conf has a twin key" })),
    "node.conf has a twin key",
  ],
  ["ConfigReconciled", "Drift", compared(drift), "and corrections are slowed down to one a second"],
  ["ConfigReconciled", "Drift", compared(drift, { idle: "a hold is in force" }), "and a hold is in force"],
  ["ConfigReconciled", "Locked", compared(drift, { result: failed("Locked") }), "may not write it (SoleWriter)"],
  ["ConfigReconciled", "WriteFailed", compared(drift, { result: failed("WriteFailed") }), "it can't be done"],
  ["ConfigReconciled", "BackupFailed", compared(drift, { result: failed("BackupFailed") }), "it can't be done"],
  [
    "ConfigReconciled",
    "Drift",
    compared(drift, { result: { ok: false, reason: "ChangedMeanwhile", message: "another" } }),
    "differs from the desired configuration",
  ],
  [
    "ConfigReconciled",
    "LockFailed",
    { config: { comparison: { notPutBack: "LockFailed", message: "No lock." } } },
    "No lock.",
  ],
  ["SoleWriter", "Uncontested", { config: { otherWriter: "none" } }, "Nobody else"],
  ["SoleWriter", "Locked", { config: { otherWriter: { kind: "locked", message: "process 7 has it" } } }, "Process 7"],
  [
    "SoleWriter",
    "Contested",
    {
      config: {
        corrected: ["x", "y"],
        otherWriter: { kind: "contested", perMinute: 61, untilMs: atMs, path: "/n/node.conf" },
      },
    },
    "61 times within a minute: another program keeps writing it. Stop that program; only the sidecar may write the file. Last undone: x; y.",
  ],
  [
    "SoleWriter",
    "Contested",
    { config: { otherWriter: { kind: "contested", perMinute: undefined, untilMs: atMs, path: "/n/node.conf" } } },
    "until 2026-01-02T03:04:05.000Z, or until `npx gatehouse-evm resume` is run.",
  ],
  [
    "SoleWriter",
    "StartRewrites",
    { config: { corrected: ["x"], otherWriter: { kind: "start", path: "/n/node.conf" } } },
    "at each of the last two restarts. Last undone: x. Set that in what the start renders /n/node.conf from",
  ],
  [
    "UpgradeVerified",
    "Upgrading",
    { upgrade: { record: upgraded } },
    "is under way: copying the data and the old programs (step 2 of 6)",
  ],
  [
    "UpgradeVerified",
    "Preparing",
    { upgrade: { record: { ...upgraded, stage: "pre-copying", preCopy } } },
    "is under way: copying the data while the node runs (step 1 of 7) since 1970-01-01T00:00:00.001Z. Withdraw it: npx gatehouse-evm upgrade --cancel",
  ],
  [
    "UpgradeVerified",
    "Preparing",
    { upgrade: { record: { ...upgraded, stage: "pre-copying", preCopy }, trouble: "a hold is in force" } },
    "The data are copied, and the node can't be stopped now: a hold is in force. Withdraw it: npx gatehouse-evm upgrade --cancel",
  ],
  [
    "UpgradeVerified",
    "Preparing",
    { upgrade: { record: { ...upgraded, stage: "giving-up", preCopy, failure: "the disk is full" } } },
    "did not begin: the disk is full. The node was not stopped for it. Now removing what was copied, since 1970-01-01T00:00:00.001Z.",
  ],
  [
    "UpgradeVerified",
    "NotStarted",
    { upgrade: { record: { ...upgraded, stage: "giving-up", preCopy, failure: "the disk is full", end: "given-up" } } },
    "did not begin: the disk is full. The node was not stopped for it. Request it again, or give it up: npx gatehouse-evm upgrade --cancel",
  ],
  [
    "UpgradeVerified",
    "Canceled",
    {
      upgrade: {
        record: {
          ...upgraded,
          stage: "giving-up",
          preCopy,
          failure: "it was withdrawn",
          end: "given-up",
          isWithdrawn: true,
        },
      },
    },
    "did not begin: it was withdrawn. The node was not stopped for it.",
  ],
  ["UpgradeVerified", "Blocked", { upgrade: { record: upgraded, blocked: "No driver." } }, "No driver."],
  [
    "UpgradeVerified",
    "Verified",
    { upgrade: { record: { ...upgraded, end: "committed" } } },
    "from 0.15.0 to 0.16.2 is proved.",
  ],
  [
    "UpgradeVerified",
    "RolledBack",
    { upgrade: { record: { ...upgraded, end: "rolled-back", newRan: true, failure: "its height stayed 5" } } },
    "0.16.2 failed: its height stayed 5. The data as they were with 0.16.2 in place are in /w/aside; remove them when they are of no use: rm -r -- /w",
  ],
  [
    "UpgradeVerified",
    "RolledBack",
    {
      upgrade: {
        record: {
          ...upgraded,
          end: "rolled-back",
          newRan: true,
          directory: "/my disk/w",
          stores: [
            { path: "/my disk/data", copy: "/my disk/w/data", aside: "/my disk/w/aside" },
            { path: "/meta", copy: "/w2/data-2", aside: "/w2/aside" },
          ],
        },
      },
    },
    "are in /my disk/w/aside and /w2/aside; remove them when they are of no use: rm -r -- '/my disk/w' /w2",
  ],
  [
    "UpgradeVerified",
    "RollbackFailed",
    { upgrade: { record: { ...upgraded, end: "stranded", stage: "back-data", note: "no space is left" } } },
    "so did the way back, while putting the old data back: No space is left. Nothing more is tried until the hold is lifted. By hand: stop the node, restore /data from /w/copy",
  ],
  [
    "UpgradeVerified",
    "ResolvedManually",
    { upgrade: { record: { ...upgraded, end: "settled", stage: "back-data", failure: "its height stayed 5" } } },
    "The upgrade from 0.15.0 to 0.16.2 failed, and so did the way back; the node answers again since, so nothing more is tried. 0.16.2 failed: its height stayed 5. What is kept is in these directories; remove them when they are of no use: rm -r -- /w",
  ],
  ["DataIntact", "Intact", { data: { found: { kind: "sound" } } }, "has the blocks that it had before"],
  [
    "DataIntact",
    "Suspect",
    { data: { found: { kind: "suspect", signs: ["block 7 is gone"] } } },
    "Signs against the node's data: block 7 is gone. node.conf, binaries, keys, ports, memory, disk space and the chain are as when the node was last healthy. If the node's log confirms it, restore them from a snapshot: npx gatehouse-evm restore --snapshot",
  ],
  [
    "DataIntact",
    "Inconclusive",
    {
      data: {
        found: { kind: "doubt", signs: ["block 7 is gone"], missing: ["a peer", "room"] },
      },
    },
    "Signs against the node's data: block 7 is gone. Other causes are not ruled out; missing: a peer; room. If the node's log",
  ],
  ["DataIntact", "NeverHealthy", { data: { found: { kind: "another-chain" } } }, "another first block than before"],
  [
    "DataIntact",
    "NotInspected",
    {
      data: {
        found: { kind: "suspect", signs: ["block 7 is gone"] },
        failed: { why: "looking at /data hangs", againAtMs: Date.UTC(2026, 0, 1) },
      },
    },
    "The node's data can't be read: looking at /data hangs. Whether they are whole is not known. The last look that was made found: Signs against the node's data: block 7 is gone.",
  ],
  [
    "DataIntact",
    "NotInspected",
    {
      data: {
        found: { kind: "sound" },
        failed: { why: "looking at /data hangs", againAtMs: Date.UTC(2026, 0, 1) },
      },
    },
    "Whether they are whole is not known. The next look is at 2026-01-01T00:00:00.000Z.",
  ],
  ["Adopted", "Observing", { adoption: { plan, authority: "observes" } }, "upkeep.mode is observe"],
  [
    "Adopted",
    "Adopted",
    { adoption: { plan, authority: "acts", adopted: { by: "command", atMs } } },
    "since 2026-01-02T03:04:05.000Z (gatehouse adopt).",
  ],
  [
    "Adopted",
    "Adopted",
    { adoption: { plan, authority: "acts", adopted: { by: "earlier version", atMs } } },
    "(it acted before).",
  ],
  [
    "Adopted",
    "WaitingForApproval",
    { adoption: { plan, authority: "waits" } },
    "Its plan: 1. one; 2. two. Not planned yet: three. To let it act, run `npx gatehouse-evm adopt`.",
  ],
  [
    "Adopted",
    "WaitingForApproval",
    { adoption: { plan: { steps: [], problems: [], digest: "" }, authority: "waits" } },
    "nothing to change now.",
  ],
  ["AutoPruneEnabled", "NoPruneInfo", { prune: { autoPrune: { kind: "unknown" } } }, "NodeCliWorking"],
  ["AutoPruneEnabled", "Enabled", { prune: { autoPrune: { kind: "on" } } }, "reads 1"],
  ["AutoPruneEnabled", "DisabledBySetting", { prune: { autoPrune: { kind: "offAsDesired" } } }, "off, as desired"],
  [
    "AutoPruneEnabled",
    "CannotDisable",
    { prune: { autoPrune: { kind: "staysOn", message: "It stays." } } },
    "It stays.",
  ],
  [
    "AutoPruneEnabled",
    "Disabled",
    {
      prune: { autoPrune: { kind: "off", idle: "a hold is in force", command: "node_cli prune --enable_auto_prune" } },
    },
    "and a hold is in force",
  ],
  [
    "AutoPruneEnabled",
    "TimedOut",
    { prune: { autoPrune: { kind: "notSwitchedOn", reason: "TimedOut", message: "Too late." } } },
    "Too late.",
  ],
  ["PruneAdvancing", "Advancing", { prune: { progress, looked: look } }, "before 80"],
  [
    "PruneAdvancing",
    "PruningStalled",
    { prune: { progress: { ...progress, sinceMs: 0 }, looked: look } },
    "has been 80 for more than 60 s",
  ],
  [
    "PruneAdvancing",
    "Advancing",
    { prune: { progress: { ...progress, sinceMs: 0, sinceHeight: 50 }, looked: look } },
    "before 80",
  ],
  [
    "PruneAdvancing",
    "Disabled",
    { prune: { progress, looked: { ...look, info: { ...info, autoPrune: false } } } },
    "off",
  ],
  ["NotPaused", "NotPaused", { restarts: { hold: "none" } }, "No hold"],
  [
    "NotPaused",
    "Paused",
    { restarts: { hold: { message: "It did not come back." } } },
    "It did not come back. Change the desired state, or run `npx gatehouse-evm resume`",
  ],
  ["RollbackReady", "NoRestarts", { restarts: { rollBack: { kind: "noRestarts" } } }, "never has to go back"],
  ["RollbackReady", "Ready", { restarts: { rollBack: { kind: "advanced", directory: "/s" } } }, "/s/healthy.conf."],
  ["RollbackReady", "Assumed", { restarts: { rollBack: { kind: "assumed", directory: "/s" } } }, "is not known"],
  [
    "RollbackReady",
    "BackupFailed",
    { restarts: { rollBack: { kind: "notKept", directory: "/s" } } },
    "Make /s writable",
  ],
  ["RollbackReady", "NotYet", { restarts: { rollBack: { kind: "nothing", because: "notYet" } } }, "Nothing is kept"],
  [
    "RollbackReady",
    "NoBackup",
    { restarts: { rollBack: { kind: "nothing", because: "unread" } } },
    "was changed long after the node had started",
  ],
  [
    "RollbackReady",
    "NoBackup",
    { restarts: { rollBack: { kind: "nothing", because: "unknown" } } },
    "No node.conf is known",
  ],
  [
    "NoRestartPending",
    "NoRestart",
    { restarts: { settled: { go: false, reason: "NoRestart", message: "No restart is pending." } } },
    "No restart is pending.",
  ],
  [
    "NoRestartPending",
    "Running",
    { restarts: { settled: { go: true, due } } },
    "Restarting the node: node.conf changed.",
  ],
  [
    "NoRestartPending",
    "Paused",
    { restarts: { settled: { go: false, reason: "Paused", message: "A hold." } } },
    "A hold.",
  ],
  [
    "NoRestartPending",
    "EditRejected",
    { restarts: { settled: { refusedEdit: "a key is missing." } } },
    "a key is missing. The node runs on with what it has read. Correct node.conf; if you know better, restart the node by hand (`ops stop --force`, then `ops start`).",
  ],
  [
    "NoRestartPending",
    "EditNotChecked",
    { restarts: { settled: { unjudgedEdit: "looking at /keys hangs." } } },
    "can't be told: looking at /keys hangs. The node runs on with what it has read, and is restarted once that can be looked at; if you know that it starts, restart it by hand (`ops stop --force`, then `ops start`).",
  ],
];

test("pruning is not known to advance while node_cli prints nothing, whatever it printed before", () => {
  const reported = conditions({ prune: { autoPrune: { kind: "unknown" }, progress, looked: look } });
  expect(reported.map(({ type, status, reason }) => [type, status, reason])).toEqual([
    ["AutoPruneEnabled", "Unknown", "NoPruneInfo"],
    ["PruneAdvancing", "Unknown", "NoPruneInfo"],
  ]);
});

describe("conditions, from what the passes have found", () => {
  const named = cases.map(([type, reason, found, text]) => ({ type, reason, found, text }));

  it.each(named)("$type is $reason: $text", ({ type, reason, found, text }) => {
    const reported = conditions(found);
    expect(reported.map((condition) => [condition.type, condition.reason])).toEqual([[type, reason]]);
    expect(reported[0]?.message).toContain(text);
    const status = reported[0]?.status ?? "Unknown";
    expect(conditionReasons[type][status]).toContain(reason);
  });

  it("are absent before anything was looked at", () => {
    expect(conditions({})).toEqual([]);
  });

  it("come in the order of the nouns, several at once", () => {
    const found = { state: { isLookedAt: true }, restarts: { hold: "none" } } as const;
    expect(conditions(found).map(({ type }) => type)).toEqual(["StateWritable", "NotPaused"]);
  });
});

test("a sidecar that may act by its setting names no date", () => {
  const reported = conditions({ adoption: { plan, authority: "acts" } }, { ...words, mode: "enforce" });
  expect(reported).toEqual([
    {
      type: "Adopted",
      status: "True",
      reason: "Adopted",
      message: "upkeep.mode is enforce: the sidecar acts by itself.",
    },
  ]);
});

test("a node that another driver restarts is restarted by hand by that driver's tool", () => {
  const reported = conditions({ restarts: { settled: { refusedEdit: "no key." } } }, { ...words, driver: "docker" });
  expect(reported[0]?.message).toContain("by hand (by its own tool)");
});
