import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { within } from "#daemon/time.ts";
import { startAnvilProcess, type AnvilProcess } from "#devnet/anvil/anvil-process.ts";

let directory: string;
beforeEach(async () => {
  directory = await makeTestDirectory();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function start(): Promise<AnvilProcess> {
  return startAnvilProcess({ chainId: 1672, directory }, { log: pino({ level: "silent" }) });
}

test("stops an anvil left by an earlier node at the next start", async () => {
  await using orphan = await start();
  await using next = await start();
  expect((await within("end of the orphan", 5_000, orphan.ended)).message).toContain(`process ${orphan.pid}) exited`);
  expect(next.pid).not.toBe(orphan.pid);
});

test("does not stop a different process with the recorded pid", async () => {
  const other = JSON.stringify({ pid: process.pid, startTicks: 1 });
  for (const content of [other, String(process.pid), "", "no number"]) {
    writeFileSync(join(directory, "anvil.pid"), content);
    await using anvil = await start();
    expect(anvil.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  }
});

test("reports why anvil exited if it can't start", async () => {
  const log = pino({ level: "silent" });
  const startingAnvil = startAnvilProcess({ chainId: -1, directory }, { log });
  await expect(startingAnvil).rejects.toThrow(/anvil did not start: it exited \(exit \d+\); it printed: error/);
});

test("passes no service's secrets to anvil's environment", async () => {
  vi.stubEnv("GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN", "planted-token");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "planted-key");
  await using anvil = await start();
  const environment = readFileSync(`/proc/${anvil.pid}/environ`, "utf8");
  expect(environment).toContain("PATH=");
  expect(environment).not.toContain("planted");
});
