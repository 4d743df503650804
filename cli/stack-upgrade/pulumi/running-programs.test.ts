import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { findProcessesByArguments } from "./running-programs.ts";

test("finds a running program by its arguments, but not by part of a different word", async () => {
  const words = ["up", "--config-file", "/srv/our state/Pulumi.prod.yaml"];
  const child = spawn(process.execPath, ["--eval", "setInterval(() => {}, 1000)", "--", ...words, "last"], {
    stdio: "ignore",
  });
  await once(child, "spawn");
  expect(await findProcessesByArguments(words)).toEqual([child.pid]);
  expect(await findProcessesByArguments(["p", ...words.slice(1)])).toEqual([]);
  expect(await findProcessesByArguments([...words.slice(0, -1), "/srv/our state/Pulumi.pro"])).toEqual([]);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await findProcessesByArguments(words)).toEqual([]);
});
