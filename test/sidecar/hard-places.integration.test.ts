import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Condition } from "#status/condition.ts";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startService } from "../support/service-process.ts";

const withinMs = generousMs;
const fillerBytes = 1_024;

/** A separate small file system, as long as the caller has it; undefined where this user may not mount one. */
async function smallDisk() {
  const path = await mkdtemp(join(tmpdir(), "gatehouse-disk-"));
  const mount = (...options: readonly string[]) => spawnSync("mount", [...options, path]).status === 0;
  const isMounted = mount("-t", "tmpfs", "-o", "size=64k", "tmpfs");
  return {
    path,
    isMounted,
    remount: (how: "ro" | "rw") => expect(mount("-o", `remount,${how}`)).toBe(true),
    [Symbol.asyncDispose]: async () => {
      if (isMounted) spawnSync("umount", ["--lazy", path]);
      await rm(path, { recursive: true });
    },
  };
}

const isPossible = await (async () => {
  await using disk = await smallDisk();
  return disk.isMounted;
})();
const why = isPossible ? "" : " (skipped: this user may not mount a file system)";

/** The sidecar of a node whose node.conf lies there; returns its condition as `/status` shows it. */
async function startBeside(configPath: string) {
  const resources = new AsyncDisposableStack();
  const node = resources.use(await createFakeNode());
  await node.start();
  const { urls } = resources.use(
    await startService("sidecar", {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
      GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: configPath,
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "500",
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(node.workspace, "state"),
      GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    }),
  );
  const current = async (status: Condition["status"]) =>
    until(`node.conf matches the desired configuration: ${status}`, withinMs, async () => {
      const answer = await fetch(`${urls["sidecar"]}/status`);
      const { conditions } = (await answer.json()) as { conditions: readonly Condition[] };
      return conditions.find((condition) => condition.type === "ConfigReconciled" && condition.status === status);
    });
  return { current, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Writes until nothing more fits. */
async function fill(path: string): Promise<void> {
  for (;;) {
    try {
      await writeFile(path, "x".repeat(fillerBytes), { flag: "a" });
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
      return;
    }
  }
}

test.skipIf(!isPossible)(
  `a full disk: /status says so, node.conf stays, and is right once there is space${why}`,
  async () => {
    await using disk = await smallDisk();
    const configPath = join(disk.path, "node.conf");
    await writeFile(configPath, driftedConfig);
    await fill(join(disk.path, "filler"));
    await using sidecar = await startBeside(configPath);
    const { message } = await sidecar.current("False");
    expect(message).toContain(disk.path);
    expect(message).toMatch(/free some space/);
    expect(await readFile(configPath, "utf8")).toBe(driftedConfig);
    await rm(join(disk.path, "filler"));
    await sidecar.current("True");
    expect(await readFile(configPath, "utf8")).toContain('"storage_cetina_job_name": "node-7"');
  },
);

test.skipIf(!isPossible)(
  `a read-only mount: /status says so, and node.conf is right once it is writable${why}`,
  async () => {
    await using disk = await smallDisk();
    const configPath = join(disk.path, "node.conf");
    await writeFile(configPath, driftedConfig);
    disk.remount("ro");
    await using sidecar = await startBeside(configPath);
    const { message } = await sidecar.current("False");
    expect(message).toContain(disk.path);
    expect(message).toMatch(/writable/);
    disk.remount("rw");
    await sidecar.current("True");
    expect(await readFile(configPath, "utf8")).toContain('"storage_cetina_job_name": "node-7"');
  },
);
