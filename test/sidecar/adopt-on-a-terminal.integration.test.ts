import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { path } from "../support/own-environment.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

const hasTerminals = spawnSync("script", ["--version"]).status === 0;
const why = hasTerminals ? "" : " (skipped: util-linux's script is not installed)";

/** Types a reply at a terminal once the prompt is shown; returns the terminal's content and the exit status. */
async function atTerminal(stateDirectory: string, response: string) {
  const command = `${quoteShellWord(gatehouseProgram)} adopt --state-directory ${stateDirectory}`;
  const child = spawn("script", ["--quiet", "--flush", "--return", "--command", command, "/dev/null"], {
    env: { ...process.env, PATH: path, TERM: "dumb" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
  const ended = once(child, "close") as Promise<[number | null]>;
  await readUntil(
    () => shown,
    (text) => text.includes("[y/N]"),
  );
  child.stdin.write(response);
  const [status] = await ended;
  return { shown, status };
}

test.skipIf(!hasTerminals)(`adopt prompts on a terminal, and follows the response${why}`, async () => {
  await using node = await createFakeNode();
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "adopt",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
  });
  await upkeep.reason("NotPaused", "WaitingForApproval");
  for (const response of ["\r", "n\r", "maybe\r", "\u0004", "\u0003"]) {
    const { shown, status } = await atTerminal(upkeep.stateDirectory, response);
    expect(shown).toContain("The sidecar would do this:");
    expect(shown).toContain("Let the sidecar apply this plan and keep the node in this state? [y/N]");
    expect(status).not.toBe(0);
    expect(upkeep.state.adopted.get()).toBeUndefined();
  }
  expect(await node.config()).toBe(driftedConfig);
  const { shown, status } = await atTerminal(upkeep.stateDirectory, "y\r");
  expect(status).toBe(0);
  expect(shown).toContain("now acts on this node.");
  await upkeep.reason("ConfigReconciled", "Reconciled");
});
