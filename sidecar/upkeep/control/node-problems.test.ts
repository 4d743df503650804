import { expect, test } from "vitest";
import type { NodeFacts } from "#health/node-health.ts";
import { begunUpgrade } from "../../testing/begun-upgrade.ts";
import type { ScheduledUpgrade } from "../state/scheduled-upgrade.ts";
import { findNodeProblems, type NodeProblemsDependencies } from "./node-problems.ts";

const serving: NodeFacts = { rpc: { sinceMs: 0, fault: undefined }, chain: "expected", height: "advancing" };
const scheduled: ScheduledUpgrade = {
  asked: { source: "/releases/0.16.2" },
  from: "0.15.0",
  to: "0.16.2",
  digest: "d1",
  start: { kind: "height", height: 9 },
  acceptedMs: 1,
};

/** Stored values by name; nothing else is stored. */
type Stored = Readonly<Record<string, unknown>>;

function find(facts: NodeFacts, stored: Stored = {}, isRestarting = false): readonly string[] {
  const read = (name: string) => ({ get: () => stored[name] }) as never;
  const state: NodeProblemsDependencies["state"] = {
    hold: read("hold"),
    restartInFlight: read("restartInFlight"),
    scheduledUpgrade: read("scheduledUpgrade"),
    upgrade: read("upgrade"),
  };
  return [...findNodeProblems({ health: { facts: () => facts }, state, isRestarting: () => isRestarting })];
}

test("nothing speaks against another node's stop while this one serves and nobody works on it", () => {
  expect(find(serving)).toEqual([]);
  expect(find(serving, { upgrade: { ...begunUpgrade, end: "committed" } })).toEqual([]);
  expect(find(serving, { scheduledUpgrade: { ...scheduled, notBegun: "it was late" } })).toEqual([]);
});

const fault = (message: string) => ({ reason: "Stalled", message }) as const;

test.each<[string, NodeFacts, string]>([
  ["has not answered yet", {}, "the node has not answered yet"],
  ["does not answer", { rpc: { sinceMs: 0, fault: { reason: "Refused", message: "refused" } } }, "refused"],
  ["is of another chain", { ...serving, chain: "another" }, "node.chainId"],
  ["stands still", { ...serving, height: fault("block 7 is old") }, "block 7 is old"],
  ["is behind", { ...serving, lag: { reason: "Behind", message: "90 behind", blocks: 90 } }, "90 behind"],
])("a node that %s does", (_, facts, words) => {
  expect(find(facts)).toEqual([expect.stringContaining(words)]);
});

test.each<[string, Stored, boolean, string]>([
  ["is held", { hold: { message: "m", sinceMs: 1 } }, false, "a hold is in force"],
  ["is upgraded", { upgrade: begunUpgrade }, false, "an upgrade is under way"],
  ["is restarted", {}, true, "being restarted"],
  ["was being restarted when its sidecar ended", { restartInFlight: {} }, false, "being restarted"],
  ["will be upgraded by itself", { scheduledUpgrade: scheduled }, false, "an upgrade to 0.16.2 is accepted"],
])("so does one that %s", (_, stored, isRestarting, words) => {
  expect(find(serving, stored, isRestarting)).toEqual([expect.stringContaining(words)]);
});
