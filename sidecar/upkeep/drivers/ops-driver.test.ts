import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { buildOpsDriver } from "../../testing/ops-driver.ts";

const restart = async (stop: string, start: string) => {
  await using ops = await buildOpsDriver({ stop: [stop], start: [start], directory: import.meta.dirname });
  await ops.driver.restart(AbortSignal.timeout(20_000));
};

it("names a program once if it is missing for both stopping and starting the node", async () => {
  await expect(restart("./ops", "./ops")).rejects.toThrow(
    `${import.meta.dirname}/ops does not exist; correct the program's path, or install it there.`,
  );
});

it("names both the missing stop program and the missing start program", async () => {
  await expect(restart("./stop", "./start")).rejects.toThrow(
    /^\/\S+\/start does not exist; .* \(earlier: \/\S+\/stop does not exist; .*\)$/,
  );
});

it("reports ahead of time which program is missing or not executable", async () => {
  const directory = await makeTestDirectory();
  const problem = async (stop: string, start: string) => {
    await using ops = await buildOpsDriver({ stop: [stop], start: [start], directory });
    return await ops.driver.problem?.();
  };
  expect(await problem("./ops", "./ops")).toBe(
    `./ops (ops.stop, ops.start) is missing; install it into ${directory}, or correct ops.directory`,
  );
  await writeFile(join(directory, "ops"), "#!/bin/sh\n", { mode: 0o644 });
  expect(await problem("./ops", "./ops")).toBe(
    `./ops (ops.stop, ops.start) can't be run by this user; run chmod +x ${join(directory, "ops")}`,
  );
  await chmod(join(directory, "ops"), 0o755);
  expect(await problem("./ops", "./ops")).toBeUndefined();
  expect(await problem("true", "/nowhere/start")).toBe(
    "/nowhere/start (ops.start) is missing; install it there, or correct ops.start",
  );
});
