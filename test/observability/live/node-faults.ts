import { execFile } from "node:child_process";
import { appendFile, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { mountHangingDisk } from "#sidecar/testing/small-disk.ts";
import type { LiveFault } from "./live-fault.ts";
import { replaceNodeCli } from "./replaced-node-cli.ts";
import { repeatAct } from "./repeat-act.ts";
import type { WatchedStack } from "./watched-stack.ts";

const run = promisify(execFile);

/** Stops the node with its own `ops`, like an operator; starts it again to repair that. */
async function stopNode({ binDirectory }: WatchedStack): Promise<AsyncDisposable> {
  await run("./ops", ["stop", "--force"], { cwd: binDirectory });
  return {
    [Symbol.asyncDispose]: async () =>
      void (await run("./ops", ["start", "--config", "./node.conf"], { cwd: binDirectory })),
  };
}

/** Replaces `node_cli` with a program that prints its last output, modified. */
async function repeatNodeCliOutput(
  { binDirectory }: WatchedStack,
  change: (printed: string) => string,
): Promise<AsyncDisposable> {
  const program = join(binDirectory, "node_cli");
  const { stdout } = await run(program, ["prune", "--get", "--c", "./node.conf"], { cwd: binDirectory });
  return replaceNodeCli(binDirectory, `cat <<'PRUNE_INFO'\n${change(stdout)}\nPRUNE_INFO`);
}

const serving: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseNodeDown",
    what: "the node stopped by `ops stop --force`",
    besides: ["GatehouseConditionFalse"],
    strike: stopNode,
  },
  {
    alert: "GatehouseHeadStale",
    what: "the node responds but produces no blocks; a reference does",
    besides: ["GatehouseConditionFalse"],
    strike: async ({ chain, reference, nodeUrl }) => {
      await reference.follow(nodeUrl);
      const halted = await chain.halt();
      const others = repeatAct(1_000, () => reference.advance(1));
      return {
        [Symbol.asyncDispose]: async () => {
          await others[Symbol.asyncDispose]();
          await halted[Symbol.asyncDispose]();
        },
      };
    },
  },
  {
    alert: "GatehouseNodeBehind",
    what: "the reference is 80 blocks ahead; lag.maxBlocks is 50",
    besides: ["GatehouseConditionFalse"],
    strike: async ({ reference, nodeUrl }) => {
      await reference.follow(nodeUrl);
      await reference.advance(80);
      // The node produces a block per second: it has caught up by itself half a minute later.
      return { [Symbol.asyncDispose]: () => Promise.resolve() };
    },
  },
];

const pruning: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehousePruningStalled",
    what: "`node_cli` reports auto-pruning off, and enabling it has no effect",
    besides: ["GatehouseConditionFalse"],
    strike: (stack) =>
      repeatNodeCliOutput(stack, (printed) =>
        printed.replace(/(enable_auto_prune\W+)1/, (_, key: string) => `${key}0`),
      ),
  },
  {
    alert: "GatehousePruningStalled",
    what: "`node_cli` reports pruning on, and versions that don't advance",
    besides: ["GatehouseConditionFalse"],
    strike: (stack) => repeatNodeCliOutput(stack, (printed) => printed),
  },
];

const disk: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseDiskSpaceLow",
    severity: "critical",
    what: "a data disk of 64 MiB filled to the last byte",
    besides: ["GatehouseConditionFalse"],
    strike: async ({ disk: small }) => {
      await small?.fill();
      return { [Symbol.asyncDispose]: async () => small?.empty() };
    },
  },
  {
    alert: "GatehouseDiskSpaceLow",
    severity: "warning",
    what: "24 KiB/s written to that disk",
    // Six hours must be visible (360 s at a scale of 60), and the alert waits for one.
    firesWithinMs: 600_000,
    strike: async ({ disk: small }) => {
      const path = join(small?.path ?? "", "growing");
      const writing = repeatAct(1_000, () => appendFile(path, Buffer.alloc(24_576)));
      return {
        [Symbol.asyncDispose]: async () => {
          await writing[Symbol.asyncDispose]();
          await rm(path);
        },
      };
    },
  },
];

const unparsed: LiveFault<WatchedStack> = {
  alert: "GatehouseConditionFalse",
  what: "node.conf truncated, with upkeep.restoreAfterMs 0: no alert of its own",
  strike: async ({ binDirectory }) => {
    const path = join(binDirectory, "node.conf");
    const whole = await readFile(path);
    await writeFile(path, whole.subarray(0, whole.length / 2));
    return { [Symbol.asyncDispose]: () => writeFile(path, whole) };
  },
};

const volume: LiveFault<WatchedStack> = {
  alert: "GatehouseDiskSpaceLow",
  severity: "warning",
  what: "87 % of that disk filled, with its claim at the maximum size",
  besides: ["GatehouseConditionFalse"],
  strike: async ({ disk: small, claim }) => {
    claim.setAtCeiling(true);
    const path = join(small?.path ?? "", "large");
    await writeFile(path, Buffer.alloc(57_000 * 1_024));
    return {
      [Symbol.asyncDispose]: async () => {
        await rm(path);
        claim.setAtCeiling(false);
      },
    };
  },
};

/** Moves node.conf to a separate directory, replaces it with a link, and makes that directory's file system hang. */
const hanging: LiveFault<WatchedStack> = {
  alert: "GatehouseReconcileStopped",
  what: "node.conf is a link into a directory whose file system hangs",
  besides: ["GatehouseConditionFalse", "GatehousePruningStalled"],
  // Two minutes of real time, which are compared with a clock.
  firesWithinMs: 240_000,
  prepare: async ({ binDirectory }) => {
    const path = join(binDirectory, "node.conf");
    const moved = findMovedConfig(binDirectory);
    await mkdir(dirname(moved));
    await rename(path, moved);
    await symlink(moved, path);
  },
  strike: ({ binDirectory }) => {
    const path = join(binDirectory, "node.conf");
    const moved = findMovedConfig(binDirectory);
    const mounted = mountHangingDisk(dirname(moved));
    return Promise.resolve({
      [Symbol.asyncDispose]: async () => {
        mounted[Symbol.dispose]();
        await rename(moved, path);
      },
    });
  },
};

const findMovedConfig = (binDirectory: string) => join(dirname(binDirectory), "conf", "node.conf");

/** Faults of the node itself, its pruning and its disk. The disk's faults need permission to mount one. */
export const nodeFaults = { serving, pruning, disk: [...disk, volume], hanging, unparsed } as const;
