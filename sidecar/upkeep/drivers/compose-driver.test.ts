import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { keepProgramOutput } from "../../testing/program-output.ts";
import { composeVariables, createComposeDriver } from "./compose-driver.ts";

afterEach(() => vi.unstubAllEnvs());

test("gives compose commands the docker connection variables but none of the sidecar's secrets", async () => {
  vi.stubEnv("GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN", "secret-of-the-sidecar");
  vi.stubEnv("DOCKER_HOST", "unix:///run/other.sock");
  const directory = await makeTestDirectory();
  await using output = await keepProgramOutput();
  const driver = createComposeDriver(
    {
      command: ["sh", "-c", `env >$0.env; echo '{"State":"running"}'`, "restart"],
      service: "node",
      directory: () => directory,
      timeoutMs: 10_000,
      psTimeoutMs: 10_000,
      passes: composeVariables,
    },
    output,
  );
  const { signal } = new AbortController();
  expect(await driver.restart(signal)).toEqual({});
  expect(await driver.runs?.(signal)).toBe(true);
  for (const name of ["restart.env", "ps.env"]) {
    const environment = await readFile(join(directory, name), "utf8");
    expect(environment).toContain("DOCKER_HOST=unix:///run/other.sock");
    expect(environment).not.toMatch(/GATEHOUSE_|secret/);
  }
});

/** Runs a restart with a fake docker, and returns the arguments it received. */
async function restart(command: readonly string[], service?: string): Promise<string> {
  const directory = await makeTestDirectory();
  await using output = await keepProgramOutput();
  const told = join(directory, "told");
  await writeFile(join(directory, "docker"), `#!/bin/sh\necho "$@" >> ${told}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${directory}${delimiter}${process.env["PATH"] ?? ""}`);
  const limits = { timeoutMs: 10_000, psTimeoutMs: 10_000, passes: composeVariables };
  const driver = createComposeDriver({ command, service, directory: () => directory, ...limits }, output);
  await driver.restart(new AbortController().signal);
  return (await readFile(told, "utf8")).trim();
}

test("restarts only the node's service, with the stop timeout that the node needs", async () => {
  expect(await restart(["docker", "compose", "restart"], "node")).toBe("compose restart --timeout 300 node");
});

test("runs the specified command if no service is set, and an operator's own command unchanged", async () => {
  expect(await restart(["docker", "compose", "restart"])).toBe("compose restart");
  expect(await restart(["docker", "compose", "restart", "other"], "node")).toBe("compose restart other");
});

/** A container's state, according to the output of `docker compose ps`. */
async function readRuns(printed: string) {
  await using output = await keepProgramOutput();
  const command = ["sh", "-c", `printf '%s' '${printed}'`, "restart"];
  const limits = { timeoutMs: 10_000, psTimeoutMs: 10_000, passes: composeVariables };
  const driver = createComposeDriver({ command, service: "node", directory: tmpdir, ...limits }, output);
  return driver.runs?.(new AbortController().signal);
}

test.each([
  ['{"State":"running"}', true],
  ['{"State":"exited"}', false],
  ['{"State":"exited"}\n{"State":"created"}', true],
  ['[{"State":"exited"}]', false],
  ['[{"State":"paused"}]', true],
  ["[]", "unknown"],
  ["no such service", "unknown"],
])("derives from %s whether a container is running: %s", async (printed, runs) => {
  expect(await readRuns(printed)).toBe(runs);
});
