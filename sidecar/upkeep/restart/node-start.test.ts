import { expect, test } from "vitest";
import type { NodeStart } from "../drivers/driver.ts";
import { nodeStart } from "./node-start.ts";

test("the driver is asked once a pass when the node started, and anew in the next one", async () => {
  let asked = 0;
  const startedAt = () => Promise.resolve((asked += 1));
  const driver = { name: "docker" as const, restart: () => Promise.resolve({}), startedAt };
  const parts = { driver, signal: new AbortController().signal };
  const memory: { started: Promise<NodeStart> | undefined } = { started: undefined };
  expect(await Promise.all([nodeStart(memory, parts), nodeStart(memory, parts)])).toEqual([1, 1]);
  memory.started = undefined;
  expect(await nodeStart(memory, parts)).toBe(2);
});
