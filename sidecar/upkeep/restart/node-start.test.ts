import { expect, test } from "vitest";
import { nodeStart } from "./node-start.ts";
import { observeProcess } from "./process-observation.ts";

test("the driver is asked once a pass when the node started, and anew in the next one", async () => {
  let asked = 0;
  const startedAt = () => Promise.resolve((asked += 1));
  const driver = { name: "docker" as const, restart: () => Promise.resolve({}), startedAt };
  const dependencies = { driver, signal: new AbortController().signal };
  const process = observeProcess();
  expect(await Promise.all([nodeStart(process, dependencies), nodeStart(process, dependencies)])).toEqual([1, 1]);
  process.note({ started: undefined });
  expect(await nodeStart(process, dependencies)).toBe(2);
});
