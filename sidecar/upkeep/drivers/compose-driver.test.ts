import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createComposeDriver } from "./compose-driver.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-compose-"));
const told = join(directory, "told");
const ps = ["docker", "compose", "ps"];

beforeAll(() => {
  // Stands in for docker: notes what it was told.
  writeFileSync(join(directory, "docker"), `#!/bin/sh\necho "$@" >> ${told}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${directory}${delimiter}${process.env["PATH"] ?? ""}`);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

async function restart(command: readonly string[], service?: string): Promise<string> {
  writeFileSync(told, "");
  const options = { command, ps, service, directory: () => directory, timeoutMs: 5_000, psTimeoutMs: 5_000 };
  await createComposeDriver(options).restart(new AbortController().signal);
  return readFileSync(told, "utf8").trim();
}

it("restarts the node's service alone, with the time that the node needs to stop", async () => {
  expect(await restart(["docker", "compose", "restart"], "node")).toBe("compose restart --timeout 300 node");
});

it("runs the specification's command where no service is named, and an operator's own as it is", async () => {
  expect(await restart(["docker", "compose", "restart"])).toBe("compose restart");
  expect(await restart(["docker", "compose", "restart", "other"], "node")).toBe("compose restart other");
});
