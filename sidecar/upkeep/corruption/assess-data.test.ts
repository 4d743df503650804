import { describe, expect, test } from "vitest";
import type { DataEvidence } from "../state/data-evidence.ts";
import { assessData, type DataAssessment, type DataCheck } from "./assess-data.ts";

const atMs = Date.parse("2026-01-02T03:04:05.000Z");
const hash = "0x55";

const mark = { atMs, block: { number: 936, hash }, genesis: "0x00", process: { pid: 1, startTicks: 2 } } as const;

const ended = { atMs, message: "its RPC did not respond" };

const down: DataCheck = {
  isAnswering: false,
  isHealthy: false,
  isExpectedChain: true,
  height: undefined,
  block: { kind: "unknown" },
  genesis: { kind: "unknown" },
  references: [],
  isSyncing: undefined,
};

const up: DataCheck = {
  ...down,
  isAnswering: true,
  isHealthy: true,
  height: 1_001,
  block: { kind: "found", hash },
  genesis: { kind: "found", hash: "0x00" },
  isSyncing: false,
};

const forked = { kind: "found", hash: "0x66" } as const;
const old = { kind: "found", hash } as const;
const other: DataCheck = { ...up, block: forked, references: [old] };
const gone: DataCheck = { ...other, block: { kind: "gone" } };

const judge = (check: DataCheck, failedStarts: DataEvidence["failedStarts"] = [], more: Partial<DataEvidence> = {}) =>
  assessData({ mark, failedStarts, ...more }, check);

const words = (judged: DataAssessment) => ("missing" in judged ? judged.missing.join("; ") : judged.kind);

describe("suspects the data", () => {
  test.each([
    [
      "after a final block with a different hash",
      other,
      "had the hash 0x55 at 2026-01-02T03:04:05.000Z, now has the hash 0x66",
    ],
    ["after a final block that is missing", gone, "is missing, though the node is at 1001"],
  ] as const)("%s", (_, check, sign) => {
    expect(judge(check)).toMatchObject({ kind: "suspect", sign: expect.stringContaining(sign) });
  });
});

describe("does not suspect the data", () => {
  test.each([
    ["of a healthy node", up, [], "sound"],
    ["of a node that recovered after failed starts", up, [ended, ended, ended], "sound"],
    ["of a node that is down without a failed start", down, [], "unknown"],
    ["of a node that failed to start once", down, [ended], "unknown"],
    [
      "of a node on a chain with a different genesis block",
      { ...other, genesis: { kind: "found", hash: "0x11" } },
      [],
      "another-chain",
    ],
  ] as const)("%s", (_, check, starts, kind) => expect(judge(check, starts)).toMatchObject({ kind }));
});

test.each([
  ["starts that failed", down, [ended, ended], "node.conf, the binaries, the keys, a port in use, a lack of memory"],
  ["no references", { ...other, references: [] }, [], "lag.references is empty"],
  ["a chain id that differs", { ...other, isExpectedChain: false }, [], "ChainIdMatches"],
  ["unresponsive references", { ...other, references: [{ kind: "unknown" }] }, [], "no reference returns that block"],
  [
    "references that also have a different block",
    { ...other, references: [forked] },
    [],
    "has a different block there, too",
  ],
  ["references that disagree", { ...other, references: [old, forked] }, [], "a different block there"],
  ["a block missing while the node syncs", { ...gone, isSyncing: true }, [], "eth_syncing is true"],
  ["a genesis block that is not returned", { ...other, genesis: { kind: "unknown" } }, [], "a different chain"],
] as const)("reports the data as inconclusive, with the reason: %s", (_, check, starts, missing) => {
  const judged = judge(check, starts);
  expect(judged.kind).toBe("doubt");
  expect(words(judged)).toContain(missing);
});

test("reports the number of failed starts with the last one, even of a node that was never healthy", () => {
  expect(judge(down, [ended, ended, ended], { mark: undefined })).toMatchObject({
    sign: "the node's process exited in 3 consecutive starts, the last at 2026-01-02T03:04:05.000Z (its RPC did not respond)",
  });
});

test("does not suspect the data because of a block that the node may have pruned", () => {
  expect(judge({ ...gone, height: 20_000 }).kind).toBe("sound");
});
