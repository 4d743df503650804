import { describe, expect, test } from "vitest";
import type { DataEvidence, FailedStart } from "../state/data-evidence.ts";
import { assessData, type DataAssessment, type DataCheck } from "./assess-data.ts";

const atMs = Date.parse("2026-01-02T03:04:05.000Z");
const hash = "0x55";

const mark = {
  atMs,
  height: 1_000,
  block: { number: 936, hash },
  genesis: "0x00",
  version: "0.16.2",
  dataInode: 7,
  process: { pid: 1, startTicks: 2 },
  programs: "programs",
  programNames: ["node", "ops"],
} as const;

const ended: FailedStart = {
  atMs,
  kind: "ended",
  afterMs: 2_000,
  configHash: "good",
  message: "its RPC did not respond",
  lackedMemory: false,
};
const stood: FailedStart = { ...ended, kind: "stood", afterMs: undefined };

const down: DataCheck = {
  isAnswering: false,
  isHealthy: false,
  isExpectedChain: true,
  height: undefined,
  block: { kind: "unknown" },
  genesis: { kind: "unknown" },
  references: [],
  referenceHeight: undefined,
  peers: undefined,
  isSyncing: undefined,
  processes: [],
  programs: "programs",
  place: { dataInode: 7, freeRatio: 0.5, missingKeys: [], takenPorts: [] },
  configHash: "good",
  healthyHash: "good",
  isStranded: false,
};

const up: DataCheck = {
  ...down,
  isAnswering: true,
  isHealthy: true,
  height: 1_001,
  block: { kind: "found", hash },
  genesis: { kind: "found", hash: "0x00" },
  peers: 3,
  isSyncing: false,
  processes: [1],
};

const downAt = (change: Partial<DataCheck["place"]>): DataCheck => ({ ...down, place: { ...down.place, ...change } });
const startsWith = (change: Partial<FailedStart>): readonly FailedStart[] => [
  ended,
  Object.assign({}, ended, change),
  ended,
];
const behind: DataCheck = { ...up, isHealthy: false, height: 500, block: { kind: "gone" }, processes: [1] };
const forked = { kind: "found", hash: "0x66" } as const;
const old = { kind: "found", hash } as const;
const other: DataCheck = { ...up, block: forked, references: [old] };
const gone: DataCheck = { ...other, block: { kind: "gone" } };

const judge = (check: DataCheck, failedStarts: readonly FailedStart[] = [], more: Partial<DataEvidence> = {}) =>
  assessData({ mark, failedStarts, ...more }, check, { diskFreeRatio: 0.1 });

const words = (judged: DataAssessment) => ("missing" in judged ? judged.missing.join("; ") : judged.kind);

describe("suspects the data", () => {
  test.each([
    [
      "after starts that fail",
      down,
      [ended, ended, ended],
      "exited in 3 consecutive starts, after 2.0 s at 2026-01-02T03:04:05",
    ],
    [
      "after a head that stays far below its old height",
      behind,
      [stood, stood, stood],
      "is stuck at block 500 after 3 consecutive starts; it was at 1000",
    ],
    [
      "after a final block with a different hash",
      other,
      [],
      "had the hash 0x55 at 2026-01-02T03:04:05.000Z, now has the hash 0x66",
    ],
    ["after a final block that is missing", gone, [], "is missing, though the node is at 1001"],
  ] as const)("%s", (_, check, starts, sign) => {
    const judged = judge(check, starts);
    expect(judged).toMatchObject({ kind: "suspect", signs: [expect.stringContaining(sign)] });
  });
});

describe("does not suspect the data", () => {
  test.each([
    ["of a healthy node", up, [], "sound"],
    ["of a node that recovered after failed starts", up, [ended, ended, ended], "sound"],
    ["of a node that is down without a failed start", down, [], "unknown"],
    ["of an unresponsive node that may be starting", down, [{ ...ended, kind: undefined }], "unknown"],
    [
      "of a node at its old height",
      { ...behind, height: 990, block: { kind: "found", hash } },
      [stood, stood, stood],
      "unknown",
    ],
    [
      "of a node on a chain with a different genesis block",
      { ...other, genesis: { kind: "found", hash: "0x11" } },
      [],
      "another-chain",
    ],
  ] as const)("%s", (_, check, starts, kind) => expect(judge(check, starts)).toMatchObject({ kind }));
});

const three = [ended, ended, ended];
const standing = [stood, stood, stood];

test.each([
  ["too few starts", down, [ended, ended], "a temporary fault (2 of 3 consecutive starts failed in the same way)"],
  ["one start that failed differently", down, [ended, ended, stood, ended], "(1 of 3 consecutive starts"],
  ["a start with a different node.conf", down, startsWith({ configHash: "edited" }), "RollbackReady"],
  ["a start during which node.conf changed", down, startsWith({ configHash: undefined }), "RollbackReady"],
  ["no node.conf known to be good", { ...down, healthyHash: undefined }, three, "RollbackReady"],
  ["a node.conf changed since", { ...down, configHash: "edited" }, three, "node.conf (not the verified version"],
  [
    "a process that ran for a while before it exited",
    down,
    startsWith({ afterMs: 300_000 }),
    "one start ran for 300.0 s",
  ],
  ["low memory", down, startsWith({ lackedMemory: true }), "lack of memory"],
  ["a process that is still running", { ...down, processes: [12] }, three, "a leftover node process (12,"],
  ["a port in use", downAt({ takenPorts: ["30303"] }), three, "listens on 30303"],
  ["a full disk", downAt({ freeRatio: 0.01 }), three, "1.0 % of the data disk is free; health.diskFree"],
  ["a missing disk", downAt({ problem: "it is not there" }), three, "it is not there"],
  ["a missing key", downAt({ missingKeys: ["/k"] }), three, "missing key files (/k)"],
  ["changed binaries on disk", { ...down, programs: "others" }, three, "changed binaries"],
  ["a changed data directory", downAt({ dataInode: 8 }), three, "a replaced data directory"],
  ["a stranded upgrade", { ...down, isStranded: true }, three, "the failed upgrade"],
  ["no peers", { ...behind, peers: 0 }, standing, "net_peerCount is 0"],
  ["an unknown peer count", { ...behind, peers: undefined }, standing, "net_peerCount is unknown"],
  ["a syncing node", { ...behind, isSyncing: true }, standing, "eth_syncing is true"],
  ["a chain without new blocks", { ...behind, referenceHeight: 500 }, standing, "no later block"],
  ["no references to compare with", { ...behind, isExpectedChain: false }, standing, "ChainIdMatches"],
  ["no references", { ...other, references: [] }, [], "lag.references is empty"],
  ["unresponsive references", { ...other, references: [{ kind: "unknown" }] }, [], "no reference returns that block"],
  [
    "references that also have a different block",
    { ...other, references: [forked] },
    [],
    "has a different block there, too",
  ],
  [
    "references that disagree",
    {
      ...other,
      references: [old, forked],
    },
    [],
    "a different block there",
  ],
  ["a block missing while the node syncs", { ...gone, isSyncing: true }, [], "eth_syncing is true"],
  ["a genesis block that is not returned", { ...other, genesis: { kind: "unknown" } }, [], "a different chain"],
] as const)("reports the data as inconclusive, with the reason: %s", (_, check, starts, missing) => {
  const judged = judge(check, starts);
  expect(judged.kind).toBe("doubt");
  expect(words(judged)).toContain(missing);
});

test("does not suspect the data after starts that fail because of a missing binary, and reports which is missing", () => {
  const judged = judge({ ...down, programs: "others", programNames: ["ops", "other"] }, three);
  expect(judged).toEqual({ kind: "unknown", why: expect.stringContaining("a binary was missing (node in the bin") });
});

test("does not suspect the data because of a block that the node may have pruned", () => {
  expect(judge({ ...gone, height: 20_000 }).kind).toBe("sound");
});

test("has no baseline for a node that was never healthy", () => {
  const judged = judge(down, three, { mark: undefined });
  expect(words(judged)).toBe("an older fault (the sidecar has not yet seen this node healthy)");
});
