import { createServer } from "node:http";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { answersRpc, goodResponses, risingHeight, serveNode } from "#sidecar/testing/watched-node.ts";
import { runUpgradeCommand } from "#sidecar/upkeep/control/upgrade-command.ts";
import { isLong } from "../support/run-size.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startSmallService } from "./small-service.ts";

type Status = Readonly<{
  headline: Readonly<{ state: string }>;
  conditions: readonly Readonly<{ type: string; reason: string; message: string }>[];
  events: readonly Readonly<{ message: string }>[];
  traffic?: Readonly<{ total: Readonly<{ requests: number }> }>;
  history: Readonly<{
    ranges: readonly Readonly<{ name: string; columns: Readonly<{ atMs: readonly number[] }> }>[];
    outages: readonly Readonly<{ toMs?: number }>[];
  }>;
}>;

const folder = makeSharedDirectory();
async function startSmallSidecar(
  name: string,
  { workspace, httpUrl }: Readonly<{ workspace: string; httpUrl: string }>,
  env: Readonly<Record<string, string>>,
  options: Parameters<typeof startSmallService>[2] = {},
) {
  const stateDirectory = join(folder, name);
  const service = await startSmallService(
    "sidecar",
    {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace,
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: httpUrl,
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
      GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
      GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
      ...env,
    },
    options,
  );
  const status = async () => (await (await fetch(`${service.urls["sidecar"]}/status`)).json()) as Status;
  const upgrade = async (source: string, dryRun: boolean) => {
    const { output, printed } = captureOutput();
    const asked = { source, version: undefined, at: undefined, dryRun, yes: true, confirm: undefined };
    const exit = await runUpgradeCommand({ kind: "socket", stateDirectories: [stateDirectory] }, asked, output);
    return { exit, ...printed() };
  };
  return {
    ...service,
    status,
    upgrade,
    reason: async (type: string, reason: string) =>
      until(`${type} is ${reason}`, generousMs, async () => {
        const found = (await status()).conditions.find((one) => one.type === type);
        return found?.reason === reason && found.message;
      }),
    expectServing: async () => {
      expect((await fetch(`${service.urls["sidecar"]}/`)).status).toBe(200);
      service.expectWell();
    },
  };
}

const head = () => ({
  number: risingHeight(),
  hash: `0x${risingHeight().slice(2).padStart(64, "0")}`,
  timestamp: `0x${Math.floor(Date.now() / 1_000).toString(16)}`,
});

const looksOf = ({ history: { ranges } }: Status) => ranges.map(({ columns }) => columns.atMs.length);

it("limits the history of the status page", async () => {
  let isDown = false;
  const answer = answersRpc({ ...goodResponses, eth_blockNumber: risingHeight, eth_getBlockByNumber: head });
  await using watched = await serveNode((request, response) =>
    isDown ? void request.socket.destroy() : answer(request, response),
  );
  await using fake = await createFakeNode();
  const place = { workspace: fake.workspace, httpUrl: watched.url };
  const env = { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none", GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "10" };
  await using sidecar = await startSmallSidecar("page", place, env, { accelerated: { waits: 5_000 } });
  const serves = (does: boolean) =>
    until(`it ${does ? "serves" : "is down"}`, generousMs, async () => {
      const last = (await sidecar.status()).history.outages.at(-1);
      return does ? last?.toMs !== undefined : last !== undefined && last.toMs === undefined;
    });
  await sidecar.reason("GatewayServing", "Serving");
  for (let outage = 0; outage < 52; outage += 1) {
    isDown = true;
    await serves(false);
    isDown = false;
    await serves(true);
  }
  const { history, events } = await sidecar.status();
  expect(history.outages).toHaveLength(50);
  expect(events).toHaveLength(100);
  // Every 144th check of a day is kept.
  const day = isLong ? 121 : 10;
  await until("a day's checks were made", 120_000, async () => (looksOf(await sidecar.status())[1] ?? 0) >= day);
  const [before] = (await sidecar.status()).history.ranges;
  await until("more checks are made", generousMs, async () => {
    const [now] = (await sidecar.status()).history.ranges;
    return now?.columns.atMs[0] !== before?.columns.atMs[0];
  });
  const [minutes = 0, hours = 0] = looksOf(await sidecar.status());
  expect(minutes).toBe(121);
  expect(hours).toBeLessThanOrEqual(121);
  await sidecar.expectServing();
}, 240_000);

async function startSettled(
  name: string,
  env: Readonly<Record<string, string>> = {},
  options: Parameters<typeof startSmallService>[2] = {},
) {
  await using resources = new AsyncDisposableStack();
  const node = resources.use(await createFakeNode());
  await node.install("0.15.0");
  await node.start();
  const release = await node.release("0.16.2", "good");
  const quick = {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
    GATEHOUSE_SIDECAR_RESTART_TIMEOUT_MS: "3000",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "3000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "3000",
  };
  const sidecar = resources.use(await startSmallSidecar(name, node, { ...quick, ...env }, options));
  await sidecar.reason("Pruning", "Enabled");
  await sidecar.reason("ConfigReconciled", "Reconciled");
  await sidecar.reason("NoRestartPending", "NoRestart");
  const owned = resources.move();
  return { node, release, sidecar, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe("a sidecar on a disk that copies for ever", () => {
  let settled: Awaited<ReturnType<typeof startSettled>>;
  beforeAll(async () => {
    const slow = join(folder, "slow-disk");
    mkdirSync(slow);
    // A disk without reflinks, on which a copy never finishes.
    const cp = ['case "$*" in *--reflink=always*) exit 1 ;; esac', "exec sleep 3600"];
    writeFileSync(join(slow, "cp"), `#!/bin/sh\n${cp.join("\n")}\n`, { mode: 0o755 });
    settled = await startSettled("copy", {
      PATH: [slow, dirname(process.execPath), process.env["PATH"]].join(":"),
      GATEHOUSE_SIDECAR_UPGRADE_COPY_TIMEOUT_MS: "1000",
    });
  });
  afterAll(() => settled?.[Symbol.asyncDispose]());
  afterEach(() => settled.sidecar.expectServing());

  it("limits the binaries of a release", async () => {
    const { sidecar } = settled;
    const release = join(folder, "many-programs");
    cpSync(settled.release, release, { recursive: true });
    for (let at = readdirSync(release).length; at < 1_000; at += 1) writeFileSync(join(release, `program-${at}`), "");
    expect(await sidecar.upgrade(release, true)).toMatchObject({ exit: 0 });
    const one = join(release, "one-more");
    writeFileSync(one, "");
    const rejection = `${release} has more than 1000 files or 8 GiB; specify the directory of the programs`;
    const rejected = { exit: 1, printed: expect.stringContaining(rejection) };
    expect(await sidecar.upgrade(release, true)).toMatchObject(rejected);
    rmSync(one);
    truncateSync(join(release, "program-999"), 8 * 1_024 ** 3);
    expect(await sidecar.upgrade(release, true)).toMatchObject(rejected);
  }, 120_000);

  it("limits the time to copy the data in an upgrade", async () => {
    const { node, release, sidecar } = settled;
    const failed = await sidecar.upgrade(release, false);
    expect(failed.exit).toBe(1);
    expect(failed.printed).toContain("could not be copied");
    expect(await sidecar.reason("UpgradeVerified", "RolledBack")).toContain("could not be copied");
    await sidecar.reason("RpcResponding", "Responding");
    expect(await node.version()).toBe("0.15.0");
  }, 120_000);
});

it("limits the rollback attempts of an upgrade", async () => {
  // Each attempt waits for the port, and for a response of a node that someone else may have started.
  const longer = {
    GATEHOUSE_SIDECAR_RESTART_TIMEOUT_MS: "5000",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "15000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "15000",
  };
  await using settled = await startSettled("way-back", longer, { accelerated: { monotonic: 5 } });
  const { node, release, sidecar } = settled;
  const upgrading = sidecar.upgrade(release, false);
  // Another process takes the node's port when the upgrade stops the node: neither version can start.
  const thief = createServer((_, response) => response.destroy());
  await until("the node's port is free", generousMs, async () => {
    thief.listen(Number(new URL(node.httpUrl).port), "127.0.0.1");
    const [error] = (await Promise.race([once(thief, "listening"), once(thief, "error")])) as [Error | undefined];
    return error === undefined;
  });
  const { exit, printed } = await upgrading;
  thief.close();
  expect(exit).toBe(1);
  expect(printed).toContain("failed, and so did the rollback, while stopping the node for the rollback");
  await sidecar.reason("UpgradeVerified", "RollbackFailed");
  await sidecar.reason("NotPaused", "Paused");
  // Each attempt ends in its first step.
  const stages = [...sidecar.output().matchAll(/"upgrade-stage".*?"stage":"(back-[\w-]+)"/g)].map(([, stage]) => stage);
  expect(stages).toEqual(["back-discarding", "back-restarting", "back-stopping", "back-stopping"]);
  await sidecar.expectServing();
}, 120_000);
