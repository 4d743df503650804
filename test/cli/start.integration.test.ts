import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { nodeNeeded, findOldNode } from "../support/node/old-node.ts";
import { runGatehouse } from "../support/run-command.ts";
import { startSilentServer } from "../support/silent-server.ts";
import { runToEnd } from "../support/service-process.ts";

const program = join(import.meta.dirname, "../../cli/gatehouse.js");
const old = findOldNode();
test.skipIf(old === undefined)(
  `rejects an old Node in one line${old === undefined ? " (skipped: no old Node on PATH)" : ""}`,
  async () => {
    const child = spawn(old!, [program, "sidecar"], { stdio: ["ignore", "pipe", "pipe"] });
    const [[status], said] = await Promise.all([once(child, "exit"), text(child.stderr)]);
    expect(status).toBe(1);
    expect(said).toMatch(
      new RegExp(
        `^gatehouse: this is Node \\d+\\.\\d+\\.\\d+ \\(\\S+\\); Gatehouse needs Node ${nodeNeeded} or later\\. Install it .*\\n$`,
      ),
    );
  },
);

/** Settings of a facilitator whose node or database never responds. */
function facilitatorEnv(ports: Readonly<{ node: number; postgres?: number }>): Record<string, string> {
  return {
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: `0x${"11".repeat(32)}`,
    GATEHOUSE_FACILITATOR_ASSETS: `[{"address":"0x${"aa".repeat(20)}","name":"USDC","version":"2"}]`,
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: `http://127.0.0.1:${ports.node}`,
    GATEHOUSE_FACILITATOR_LISTEN_PORT: "0",
    GATEHOUSE_FACILITATOR_OPERATIONS_PORT: "0",
    ...(ports.postgres === undefined
      ? {}
      : { GATEHOUSE_FACILITATOR_LEDGER_URL: `postgresql://u:hidden@127.0.0.1:${ports.postgres}/db` }),
  };
}

test("exits at its startup deadline if a node never responds, and names the node", async () => {
  const node = await startSilentServer();
  const { status, stderr } = await runToEnd("facilitator", facilitatorEnv({ node: node.port }), {
    "start.deadlineMs": 300,
  });
  expect([status, stderr]).toEqual([
    1,
    `facilitator: did not start within 300 ms: it is still waiting for the node at http://127.0.0.1:${node.port}. Check that this responds.\n`,
  ]);
});

test("exits at its startup deadline if PostgreSQL never responds, and names it without its password", async () => {
  const [node, postgres] = [await startSilentServer(), await startSilentServer()];
  const { status, stderr } = await runToEnd(
    "facilitator",
    facilitatorEnv({ node: node.port, postgres: postgres.port }),
    { "start.deadlineMs": 1500, "chain.rpcTimeoutMs": 100 },
  );
  expect(status).toBe(1);
  expect(stderr).toContain(
    `it is still waiting for PostgreSQL at 127.0.0.1:${postgres.port} (GATEHOUSE_FACILITATOR_LEDGER_URL).`,
  );
  expect(stderr).not.toContain("hidden");
});

test("exits at startup if the admin port is in use, and names the setting", async () => {
  const [node, other] = [await startSilentServer(), await startSilentServer()];
  const port = String(other.port);
  const env = { ...facilitatorEnv({ node: node.port }), GATEHOUSE_FACILITATOR_OPERATIONS_PORT: port };
  const { status, stderr } = await runToEnd("facilitator", env, {
    "start.deadlineMs": 20_000,
    "chain.rpcTimeoutMs": 100,
  });
  const message = `port ${port} on 127.0.0.1 is in use; stop the process that uses it (\`ss -ltnp 'sport = :${port}'\` shows it), or set GATEHOUSE_FACILITATOR_OPERATIONS_PORT to another port.`;
  expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
});

test("exits immediately on SIGTERM while startup waits", async () => {
  const node = await startSilentServer();
  const child = spawn(process.execPath, [program, "facilitator"], {
    env: { PATH: process.env["PATH"] ?? "", ...facilitatorEnv({ node: node.port }) },
    stdio: "ignore",
  });
  await node.asked;
  const askedAt = performance.now();
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(performance.now() - askedAt).toBeLessThan(20_000);
});

test("reports a state directory that can't be created, or holds no database, in one line with what to do", async () => {
  const folder = await makeTestDirectory();
  writeFileSync(join(folder, "file"), "x");
  writeFileSync(join(folder, "upkeep.sqlite"), "x".repeat(10_000));
  const start = (stateDirectory: string) =>
    runGatehouse(["sidecar"], {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: folder,
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    });
  const unmade = await start(join(folder, "file", "state"));
  expect([unmade.status, unmade.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^sidecar: .*can't be created \(ENOTDIR\); set GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to .*\.\n$/,
    ),
  ]);
  const damaged = await start(folder);
  expect([damaged.status, damaged.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^sidecar: .*upkeep\.sqlite is damaged or not a SQLite database \(.*\); .* set GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to another path\. .*\n$/,
    ),
  ]);
});
