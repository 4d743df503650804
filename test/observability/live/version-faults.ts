import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeRelease, type NewVersion } from "#devnet/testing/new-version.ts";
import { callRpc } from "../../support/call-rpc.ts";
import { startDevnetWorkspace } from "../../support/node/devnet-workspace.ts";
import { waitUntilSettled } from "../../support/node/owned-node.ts";
import { runGatehouse, type CommandResult } from "../../support/run-command.ts";
import { startService } from "../../support/service-process.ts";
import type { LiveFault } from "./live-fault.ts";
import type { WatchedStack } from "./watched-stack.ts";

/** Gives the sidecar a list of releases, and restores an empty one. */
function listRelease(minVersionAt: (head: number) => number) {
  return async ({ releases, nodeUrl }: WatchedStack): Promise<AsyncDisposable> => {
    const { result } = await callRpc<string>(nodeUrl, "eth_blockNumber", []);
    await releases.write(`[{ version: "99.0.0", minVersionAt: ${minVersionAt(Number(result))}, note: "a fork" }]`);
    return { [Symbol.asyncDispose]: () => releases.write("[]") };
  };
}

const releases: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseVersionOutdated",
    severity: "warning",
    what: "the release list requires a newer version from a block a day ahead",
    besides: ["GatehouseConditionFalse"],
    strike: listRelease((head) => head + 86_400),
  },
  {
    alert: "GatehouseVersionOutdated",
    severity: "critical",
    what: "the release list requires a newer version since block 1",
    besides: ["GatehouseConditionFalse"],
    strike: listRelease(() => 1),
  },
];

/** A separate devnet node with a sidecar whose data copies can be delayed. */
type UpgradedNode = WatchedStack &
  Readonly<{
    upgrade: (version: string, kind: NewVersion) => Promise<CommandResult>;
    resume: () => Promise<CommandResult>;
    holdCopies: () => Promise<AsyncDisposable>;
  }>;

/**
 * Starts both next to the stack; its sidecar is another target of the stack's job, which would otherwise be reported as
 * absent at the end.
 */
export async function startUpgradedNode(stack: WatchedStack): Promise<UpgradedNode> {
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-upgraded-"));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const node = started.use(await startDevnetWorkspace("0.15.0"));
  const held = join(folder, "paused");
  const path = `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
  const copier = join(folder, "cp");
  await writeFile(copier, `#!/bin/sh\nwhile [ -e '${held}' ]; do sleep 1; done\nPATH='${path}' exec cp "$@"\n`);
  await chmod(copier, 0o755);
  const stateDirectory = join(folder, "state");
  const sidecar = started.use(
    await startService(
      "sidecar",
      {
        PATH: `${folder}:${path}`,
        GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
        GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
        GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: node.webSocketUrl,
        GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
        GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
        GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
        GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
        GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
        GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
        GATEHOUSE_SIDECAR_OPS_STOP: '["./ops","stop"]',
        GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "30000",
        GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
        GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
      },
      { constants: { "upkeep.rereadIntervalMs": 1_000, "prune.intervalMs": 1_000 } },
    ),
  );
  const url = sidecar.urls["sidecar"] ?? "";
  await waitUntilSettled(url);
  started.use(await stack.alsoScrape("sidecar", new URL(url).host));
  const named = ["--state-directory", stateDirectory] as const;
  const owned = started.move();
  return {
    ...stack,
    upgrade: async (version, kind) =>
      runGatehouse(["upgrade", await makeRelease(join(folder, version), version, kind), "--yes", ...named]),
    resume: () => runGatehouse(["resume", ...named]),
    holdCopies: async () => {
      await writeFile(held, "");
      return { [Symbol.asyncDispose]: () => rm(held) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** @throws {Error} with the command's output if it did not end as expected. */
async function expectStatus(status: number, running: Promise<CommandResult>): Promise<void> {
  const result = await running;
  if (result.status !== status) throw new Error(`status ${result.status}: ${result.stdout}${result.stderr}`);
}

const upgrades: readonly LiveFault<UpgradedNode>[] = [
  {
    alert: "GatehouseUpgradeLong",
    what: "`gatehouse upgrade` whose `cp` of the data hangs; fixed by releasing it",
    besides: ["GatehouseConditionFalse"],
    firesWithinMs: 240_000,
    strike: async ({ upgrade, holdCopies }) => {
      const held = await holdCopies();
      const upgrading = upgrade("0.16.2", "good");
      upgrading.catch(() => undefined);
      return {
        [Symbol.asyncDispose]: async () => {
          await held[Symbol.asyncDispose]();
          await expectStatus(0, upgrading);
        },
      };
    },
  },
  {
    alert: "GatehouseUpgradeFailed",
    what: "`gatehouse upgrade` to a version that does not start; fixed by `gatehouse resume` and an upgrade to one that does",
    besides: ["GatehousePaused", "GatehouseConditionFalse"],
    strike: async ({ upgrade, resume }) => {
      const upgrading = upgrade("0.16.3", "broken");
      upgrading.catch(() => undefined);
      return {
        [Symbol.asyncDispose]: async () => {
          await expectStatus(1, upgrading);
          await expectStatus(0, resume());
          await expectStatus(0, upgrade("0.16.4", "good"));
        },
      };
    },
  },
];

/** Faults of the node's version: entries of a release list, and upgrades of a separate node. */
export const versionFaults = { releases, upgrades } as const;
