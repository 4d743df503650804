import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runSidecar } from "../../support/run-sidecar.ts";
import { waitForReason } from "#sidecar/testing/sidecar-status.ts";
import { gatehouseProgram } from "../../support/programs/place.ts";
import { runProgram, type CommandResult } from "../../support/run-command.ts";
import { readBlocks } from "../../docs/typed-pages.ts";

const controlToken = "a-token-of-thirty-two-characters-or-more";

/** A node of 0.15.0 with its own sidecar, which accepts commands at its URL, and nothing to correct. */
async function startNode() {
  await using resources = new AsyncDisposableStack();
  const node = resources.use(await createFakeNode());
  await node.install("0.15.0");
  await node.start();
  const sidecar = resources.use(
    await runSidecar(node, {
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
      GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "30000",
      GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "1500",
      GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
      GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "250",
      GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: controlToken,
    }),
  );
  const url = sidecar.urls["sidecar"] ?? "";
  await waitForReason(url, "Pruning", "Enabled");
  await waitForReason(url, "NoRestartPending", "NoRestart");
  const owned = resources.move();
  return { node, url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A release with different blocks if a node's workspace has a file `forks`. */
async function makeRelease(node: FakeNode): Promise<string> {
  const release = await node.release("0.16.2", "good");
  const program = join(release, "node-process.cjs");
  const [shebang = "", ...rest] = (await readFile(program, "utf8")).split("\n");
  const forks = 'const fs = require("node:fs"); if (fs.existsSync("../forks")) fs.writeFileSync("../data/forked", "");';
  await writeFile(program, [shebang, forks, ...rest].join("\n"));
  return release;
}

async function typeLoop(release: string, urls: readonly string[]): Promise<CommandResult> {
  const block = readBlocks("docs/upgrades.md").find(({ command }) => command.includes("for url do"));
  if (block === undefined) throw new Error("docs/upgrades.md has no loop.");
  const loop = block.command.replace(/(?<=^set -- ).+/m, urls.join(" ")).replace("/srv/releases/0.17.0", release);
  const directory = await makeTestDirectory();
  await writeFile(join(directory, "token"), controlToken);
  const script = `gatehouse() { "${process.execPath}" "${gatehouseProgram}" "$@"; }\n${loop}`;
  return runProgram("sh", ["-c", script], {}, directory);
}

test("stops the documented upgrade loop at a node that is not verified, and continues with the specified nodes", async () => {
  await using resources = new AsyncDisposableStack();
  const [a, b] = await Promise.all([startNode(), startNode()]);
  for (const one of [a, b]) resources.use(one);
  const release = await makeRelease(a.node);
  const versions = () => Promise.all([a, b].map(({ node }) => node.version()));
  const away = await typeLoop(release, [a.url, b.url, "http://127.0.0.1:1"]);
  expect(away.stdout).not.toContain("Started.");
  expect(await versions()).toEqual(["0.15.0", "0.15.0"]);

  await writeFile(join(a.node.workspace, "forks"), "");
  const failed = await typeLoop(release, [a.url, b.url]);
  expect(failed.stdout.match(/Started\./g)).toHaveLength(1);
  expect(failed.stdout).toMatch(/its data differs/);
  expect(await versions()).toEqual(["0.15.0", "0.15.0"]);

  const rest = await typeLoop(release, [b.url]);
  expect(rest).toMatchObject({ status: 0, stderr: "" });
  expect(await versions()).toEqual(["0.15.0", "0.16.2"]);
});
