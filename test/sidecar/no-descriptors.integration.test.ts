import { execFile, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { startFakeNode } from "#sidecar/testing/fake-node.ts";
import { startHeadsSocket } from "../support/node/heads-socket.ts";
import { isLong } from "../support/run-size.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const run = promisify(execFile);
const isPossible = spawnSync("prlimit", ["--version"]).status === 0;
const why = isPossible ? "" : " (skipped: prlimit is not installed)";
/** Time during which nothing can be opened, long enough for some reconciles, health checks, and runs of node_cli. */
const withoutMs = isLong ? 12_000 : 2_000;

const right = '"storage_enable_cetina": true';

test.skipIf(!isPossible)(
  `survives a period without any file descriptors, responds to open connections, and recovers afterwards${why}`,
  async () => {
    await using node = await startFakeNode();
    await using heads = await startHeadsSocket();
    const environment = buildEnvironment(node, {
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: heads.url,
      GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "500",
    });
    await using sidecar = await startService("sidecar", environment);
    const { sidecar: operations = "" } = sidecar.urls;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statusOf = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const asked = request(`${operations}${path}`, { agent, timeout: 5_000 }, (response) => {
          response.resume().on("end", () => resolve(response.statusCode ?? 0));
        });
        asked.on("error", reject).end();
      });
    const isRight = async () => (await readFile(node.configPath, "utf8")).includes(right);
    await until("node.conf is correct", generousMs, isRight);
    await until("the sidecar is ready", generousMs, async () => (await statusOf("/readyz")) === 200);

    const { stdout: before } = await run("prlimit", [
      "--pid",
      String(sidecar.pid),
      "--nofile",
      "--output",
      "SOFT",
      "--noheadings",
    ]);
    // The sidecar has more descriptors open than this limit, so every additional file, program and connection fails.
    await run("prlimit", ["--pid", String(sidecar.pid), "--nofile=20:"]);
    await writeFile(
      node.configPath,
      (await readFile(node.configPath, "utf8")).replace(right, right.replace("true", "false")),
    );
    for (const end = performance.now() + withoutMs; performance.now() < end; await sleep(500)) {
      expect(await statusOf("/livez")).toBe(200);
    }
    expect(await isRight()).toBe(false);
    await run("prlimit", ["--pid", String(sidecar.pid), `--nofile=${before.trim()}:`]);
    await until("the edit is corrected", generousMs, isRight);
    await until("the sidecar is ready", generousMs, async () => (await statusOf("/readyz")) === 200);
    agent.destroy();
    expect(await sidecar.end("SIGTERM")).toBe(0);
    expect(sidecar.output()).toContain("EMFILE");
  },
);
