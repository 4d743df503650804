import { expect, test } from "vitest";
import { descriptorCondition } from "./descriptor-condition.ts";

const setting = { connections: "listener.connections", connectionsPerAddress: "listener.connectionsPerAddress" };
const roomy = {
  open: 10,
  most: 832,
  descriptors: { used: 60, limit: 1_024 },
  isBoundByDescriptors: true,
  fullForMs: undefined,
};
const low = { ...roomy, most: 40, descriptors: { used: 75, limit: 160 } };

test.each([
  ["there is room", roomy, "True", "Enough", "60 of 1024 file descriptors are open, 10 of at most 832 connections."],
  ["idle ones are closed for others", { ...low, fullForMs: 0 }, "False", "Short", "ulimit -n"],
  ["so until half a minute after", { ...low, fullForMs: 29_999 }, "False", "Short", "Idle connections are closed"],
  ["and no longer", { ...low, fullForMs: 30_000 }, "True", "Enough", "75 of 160"],
  [
    "the setting is the bound",
    { ...roomy, isBoundByDescriptors: false, fullForMs: 0 },
    "False",
    "ConnectionsFull",
    "raise listener.connections; if not, lower listener.connectionsPerAddress",
  ],
  [
    "something else holds them",
    { ...roomy, descriptors: { used: 1_000, limit: 1_024 } },
    "False",
    "Short",
    "1000 of 1024",
  ],
  [
    "the system does not tell",
    { ...roomy, descriptors: { used: undefined, limit: 1_024 } },
    "Unknown",
    "NotCounted",
    "does not tell",
  ],
] as const)("%s", (_, state, status, reason, words) => {
  const condition = descriptorCondition(state, setting);
  expect(condition).toMatchObject({ type: "FileDescriptorsLeft", status, reason });
  expect(condition.message).toContain(words);
});
