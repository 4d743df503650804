import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { runOps } from "./node-process.ts";

test("keeps the services' secrets out of the environment of the node's ops", async () => {
  const directory = await makeTestDirectory();
  await writeFile(join(directory, "ops"), "#!/bin/sh\nenv >environment\n", { mode: 0o700 });
  vi.stubEnv("GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN", "planted-token");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "planted-key");
  onTestFinished(() => void vi.unstubAllEnvs());
  await runOps(["start"], { directory, deadlineMs: 10_000 });
  const environment = await readFile(join(directory, "environment"), "utf8");
  expect(environment).toContain("PATH=");
  expect(environment).not.toContain("planted");
});
