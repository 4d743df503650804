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

describe("signs speak against the data", () => {
  test.each([
    [
      "by starts that end",
      down,
      [ended, ended, ended],
      "exited in 3 consecutive starts, after 2.0 s at 2026-01-02T03:04:05",
    ],
    [
      "by a head that stays far below",
      behind,
      [stood, stood, stood],
      "is stuck at block 500 after 3 consecutive starts; it was at 1000",
    ],
    [
      "by a final block with another hash",
      other,
      [],
      "had the hash 0x55 at 2026-01-02T03:04:05.000Z, now has the hash 0x66",
    ],
    ["by a final block that is gone", gone, [], "is missing, though the node is at 1001"],
  ] as const)("%s", (_, check, starts, sign) => {
    const judged = judge(check, starts);
    expect(judged).toMatchObject({ kind: "suspect", signs: [expect.stringContaining(sign)] });
  });
});

describe("nothing speaks against the data", () => {
  test.each([
    ["of a node that runs well", up, [], "sound"],
    ["of one that came back after starts that ended", up, [ended, ended, ended], "sound"],
    ["of one that is down without a start that failed", down, [], "unknown"],
    ["of one that gave no answer and may be starting", down, [{ ...ended, kind: undefined }], "unknown"],
    [
      "of one that stands where it was",
      { ...behind, height: 990, block: { kind: "found", hash } },
      [stood, stood, stood],
      "unknown",
    ],
    [
      "of one on a chain with another first block",
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
  ["one that failed otherwise in between", down, [ended, ended, stood, ended], "(1 of 3 consecutive starts"],
  ["a start with another node.conf", down, startsWith({ configHash: "edited" }), "RollbackReady"],
  ["a start whose node.conf changed meanwhile", down, startsWith({ configHash: undefined }), "RollbackReady"],
  ["no node.conf that is known to be good", { ...down, healthyHash: undefined }, three, "RollbackReady"],
  ["another node.conf since", { ...down, configHash: "edited" }, three, "node.conf (not the verified version"],
  ["a process that was at work before it ended", down, startsWith({ afterMs: 300_000 }), "one start ran for 300.0 s"],
  ["a lack of memory", down, startsWith({ lackedMemory: true }), "lack of memory"],
  ["a process that still runs", { ...down, processes: [12] }, three, "a leftover node process (12,"],
  ["a port that is taken", downAt({ takenPorts: ["30303"] }), three, "listens on 30303"],
  ["a full disk", downAt({ freeRatio: 0.01 }), three, "1.0 % of the data disk is free; health.diskFree"],
  ["a disk that is gone", downAt({ problem: "it is not there" }), three, "it is not there"],
  ["a key that is gone", downAt({ missingKeys: ["/k"] }), three, "missing key files (/k)"],
  ["other programs", { ...down, programs: "others" }, three, "changed binaries"],
  ["another data directory", downAt({ dataInode: 8 }), three, "a replaced data directory"],
  ["a stranded upgrade", { ...down, isStranded: true }, three, "the failed upgrade"],
  ["no peers", { ...behind, peers: 0 }, standing, "net_peerCount is 0"],
  ["peers that nobody knows", { ...behind, peers: undefined }, standing, "net_peerCount is unknown"],
  ["a node that syncs", { ...behind, isSyncing: true }, standing, "eth_syncing is true"],
  ["a chain that stands", { ...behind, referenceHeight: 500 }, standing, "no later block"],
  ["another chain", { ...behind, isExpectedChain: false }, standing, "ChainIdMatches"],
  ["no references", { ...other, references: [] }, [], "lag.references is empty"],
  [
    "references that are silent",
    { ...other, references: [{ kind: "unknown" }] },
    [],
    "no reference returns that block",
  ],
  ["a chain that has another block, too", { ...other, references: [forked] }, [], "has a different block there, too"],
  [
    "references that do not agree",
    {
      ...other,
      references: [old, forked],
    },
    [],
    "a different block there",
  ],
  ["a block that is gone while the node syncs", { ...gone, isSyncing: true }, [], "eth_syncing is true"],
  ["a first block that is not returned", { ...other, genesis: { kind: "unknown" } }, [], "a different chain"],
] as const)("with %s it is in doubt, and that is said", (_, check, starts, missing) => {
  const judged = judge(check, starts);
  expect(judged.kind).toBe("doubt");
  expect(words(judged)).toContain(missing);
});

test("starts that fail while a program is missing say nothing of the data, and which one is missing is said", () => {
  const judged = judge({ ...down, programs: "others", programNames: ["ops", "other"] }, three);
  expect(judged).toEqual({ kind: "unknown", why: expect.stringContaining("a binary was missing (node in the bin") });
});

test("a block that the node may have pruned since is no sign", () => {
  expect(judge({ ...gone, height: 20_000 }).kind).toBe("sound");
});

test("of a node that was never seen well nothing is known to compare with", () => {
  const judged = judge(down, three, { mark: undefined });
  expect(words(judged)).toBe("an older fault (the sidecar has not yet seen this node healthy)");
});
