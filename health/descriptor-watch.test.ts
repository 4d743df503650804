import { expect, test } from "vitest";
import type { ConnectionState } from "#daemon/http/connections/connection-budget.ts";
import { deriveDescriptorCondition } from "./descriptor-watch.ts";

const setting = { connections: "listener.connections", connectionsPerAddress: "listener.connectionsPerAddress" };
const roomy: ConnectionState = {
  open: 10,
  max: 832,
  descriptors: { used: 60, limit: 1_024 },
  bound: "descriptors",
  fullForMs: undefined,
};
const low: ConnectionState = { ...roomy, max: 40, descriptors: { used: 75, limit: 160 } };

test.each([
  [
    "free descriptors",
    roomy,
    "True",
    "Available",
    "60 of 1024 file descriptors are open, 10 of at most 832 connections.",
  ],
  [
    "low descriptors while idle connections are closed",
    { ...low, fullForMs: 0 },
    "False",
    "FileDescriptorsLow",
    "ulimit -n",
  ],
  [
    "low descriptors for half a minute after that",
    { ...low, fullForMs: 29_999 },
    "False",
    "FileDescriptorsLow",
    "Idle connections are closed",
  ],
  ["free descriptors again after half a minute", { ...low, fullForMs: 30_000 }, "True", "Available", "75 of 160"],
  [
    "connections at the limit of the setting",
    { ...roomy, bound: "setting", fullForMs: 0 },
    "False",
    "ConnectionsFull",
    "raise listener.connections; if not, lower listener.connectionsPerAddress",
  ],
  [
    "connections at the limit of the memory",
    { ...roomy, bound: "memory", fullForMs: 0 },
    "False",
    "ConnectionsFull",
    "give this process or its container more memory: 160 KiB per additional connection, and 60 KiB of heap if --max-old-space-size is set; if not, lower",
  ],
  [
    "low descriptors because of other uses",
    { ...roomy, descriptors: { used: 1_000, limit: 1_024 } },
    "False",
    "FileDescriptorsLow",
    "1000 of 1024",
  ],
  [
    "an unknown state if the system does not count descriptors",
    { ...roomy, descriptors: { used: undefined, limit: 1_024 } },
    "Unknown",
    "NotCounted",
    "does not report",
  ],
] satisfies [string, ConnectionState, string, string, string][])("reports %s", (_, state, status, reason, words) => {
  const condition = deriveDescriptorCondition(state, setting);
  expect(condition).toMatchObject({ type: "ConnectionsAvailable", status, reason });
  expect(condition.message).toContain(words);
});
