import { expect, test } from "vitest";
import { readNodeStart } from "./node-start.ts";
import { observeProcess } from "./restart-observation.ts";

test("the driver is queried once a pass when the node started, and again in the next one", async () => {
  let asked = 0;
  const startedAt = () => Promise.resolve((asked += 1));
  const driver = { name: "docker" as const, restart: () => Promise.resolve({}), startedAt };
  const dependencies = { driver, signal: new AbortController().signal };
  const process = observeProcess();
  expect(await Promise.all([readNodeStart(process, dependencies), readNodeStart(process, dependencies)])).toEqual([
    1, 1,
  ]);
  process.note({ started: undefined });
  expect(await readNodeStart(process, dependencies)).toBe(2);
});
