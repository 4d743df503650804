import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { createComposeNodeCli } from "#sidecar/upkeep/drivers/compose-driver.ts";
import { selectNodeCli } from "#sidecar/upkeep/drivers/select-driver.ts";
import { readUntil } from "#daemon/testing/until.ts";

const signal = new AbortController().signal;
const query = ["prune", "--c", "./node.conf", "--get"];

/** Creates a directory with a fake `compose`, and a runner that runs the tool through it. */
async function composeThat(does: string, timeoutMs = 5_000) {
  const directory = await makeTestDirectory();
  const compose = join(directory, "compose");
  await writeFile(compose, `#!/bin/sh\n${does}\n`);
  await chmod(compose, 0o755);
  const options = { exec: [compose, "exec"], service: "node", timeoutMs, outputLimitBytes: 1_000 };
  const run = createComposeNodeCli(options, {
    directory: () => directory,
    tool: () => ({ directory: "/data/bin", command: "node_cli" }),
  });
  return { run, directory };
}

test("runs in the container's bin directory, from the directory of the compose file, with an argument array", async () => {
  const compose = await composeThat(`printf '[%s]' "$@"; pwd`);
  expect(await compose.run([...query, "$(id) *"], signal)).toEqual({
    ok: true,
    output:
      "[exec][-T][--workdir][/data/bin][node][./node_cli][prune][--c][./node.conf][--get][$(id) *]" +
      `${compose.directory}\n`,
  });
});

test.each([
  [
    "a missing tool",
    `echo 'OCI runtime exec failed: exec: "./node_cli": stat ./node_cli: no such file or directory' >&2; exit 127`,
    "NotFound",
    /^\.\/node_cli in service node is missing \(.*\); set nodeCli\.command, or nodeCli\.containerBinDirectory\.$/,
  ],
  [
    "a tool that is not executable",
    "echo 'permission denied' >&2; exit 126",
    "NotExecutable",
    /^\.\/node_cli in service node can't be executed/,
  ],
  [
    "a stopped service",
    `echo 'service "node" is not running' >&2; exit 1`,
    "Failed",
    /exited with status 1: service "node" is not running \(.*\/compose exec, compose\.service node, in compose\.directory .*\)$/,
  ],
  [
    "too much output",
    "head -c 100000 /dev/zero",
    "TooMuchOutput",
    /printed more than the limit of 1000 bytes and was killed/,
  ],
])("reports %s clearly", async (_, does, reason, words) => {
  const compose = await composeThat(does);
  const result = await compose.run(query, signal);
  expect(result).toMatchObject({ ok: false, reason, message: expect.stringMatching(words) });
});

test("abandons a hung tool after its time limit, and starts no other before it has exited", async () => {
  const compose = await composeThat("echo begun >>begun; while [ -e begun ] && [ ! -e end ]; do sleep 0.05; done", 300);
  const words = async () => {
    const result = await compose.run(query, signal);
    return result.ok ? "ok" : result.message;
  };
  expect(await words()).toBe(
    "./node_cli in service node did not finish within 300 ms and was abandoned; run it manually to see why.",
  );
  expect(await words()).toBe(
    "./node_cli in service node is still running from an earlier call; kill it, or restart the container.",
  );
  expect(await readFile(join(compose.directory, "begun"), "utf8")).toBe("begun\n");
  await writeFile(join(compose.directory, "end"), "");
  await readUntil(words, (said) => said === "ok");
});

test("kills a hung tool when the sidecar exits", async () => {
  const compose = await composeThat("exec sleep 60", 200);
  const stopController = new AbortController();
  await compose.run(query, stopController.signal);
  stopController.abort();
  await readUntil(
    () => compose.run(["--version"], AbortSignal.timeout(100)),
    (result) => !result.ok && !result.message.includes("still running"),
  );
});

/** Returns the startup error about node_cli in a compose deployment; empty if the sidecar starts. */
async function startWords(environment: Readonly<Record<string, string>>): Promise<string> {
  const settings = readSettings(sidecarSettings, {
    env: { GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/node", GATEHOUSE_SIDECAR_RESTART_DRIVER: "compose", ...environment },
  });
  try {
    await selectNodeCli(settings, () => resolveNodeLayout(settings.node), new AsyncDisposableStack());
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

test("requires the name of the node's service for compose, unless the tool runs elsewhere", async () => {
  expect(await startWords({})).toBe(
    "compose.service is missing: node_cli runs inside the node's container. Set GATEHOUSE_SIDECAR_COMPOSE_SERVICE to the node's service in the compose file, or nodeCli.runner to local where node_cli runs on this machine.",
  );
  expect(await startWords({ GATEHOUSE_SIDECAR_COMPOSE_SERVICE: "node" })).toBe("");
  expect(await startWords({ GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "local" })).toBe("");
});
