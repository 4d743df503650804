import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { within } from "#daemon/time.ts";
import { startAnvilProcess, type AnvilProcess } from "#devnet/anvil/anvil-process.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gatehouse-anvil-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

function start(): Promise<AnvilProcess> {
  return startAnvilProcess({ chainId: 1672, directory }, { log: pino({ level: "silent" }) });
}

test("an anvil that an earlier node left behind is ended at the next start", async () => {
  await using orphan = await start();
  await using next = await start();
  expect((await within("end of the orphan", 5_000, orphan.ended)).message).toContain(`process ${orphan.pid}) exited`);
  expect(next.pid).not.toBe(orphan.pid);
});

test("a process that only has the noted number is left alone", async () => {
  for (const content of [String(process.pid), "1", "", "no number"]) {
    writeFileSync(join(directory, "anvil.pid"), content);
    await using anvil = await start();
    expect(anvil.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  }
});

test("an anvil that can't start says why", async () => {
  const log = pino({ level: "silent" });
  const starting = startAnvilProcess({ chainId: -1, directory }, { log });
  await expect(starting).rejects.toThrow(/anvil did not start: it exited \(exit \d+\); it printed: error/);
});

test("anvil gets none of the services' secrets in its environment", async () => {
  vi.stubEnv("GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN", "planted-token");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "planted-key");
  await using anvil = await start();
  const environment = readFileSync(`/proc/${anvil.pid}/environ`, "utf8");
  expect(environment).toContain("PATH=");
  expect(environment).not.toContain("planted");
});
