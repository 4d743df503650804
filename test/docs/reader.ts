import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { within } from "#daemon/time.ts";
import { until } from "#daemon/testing/until.ts";
import { gatehouseProgram } from "../support/programs/place.ts";
import { isLong } from "../support/run-size.ts";
import type { CommandBlock } from "./command-block.ts";
import { findFirstDifference } from "./printed-output.ts";

const ownNetwork = ["--user", "--map-root-user", "--net"];

/** Whether this user may create networks, in which every port is free. */
export const mayRead =
  spawnSync("unshare", [...ownNetwork, "sh", "-c", "ip link set lo up && nsenter --version"]).status === 0;

/** Longer than a stack's start alongside other tests. */
const commandMs = 90_000;
const stopMs = 20_000;

/**
 * A reader at a terminal who types a page's commands, in an empty directory and a separate network. Disposing of it stops what is still
 * running.
 */
export type Reader = AsyncDisposable &
  Readonly<{
    /**
     * Types one block, except for a service that already runs, and waits until it exits; for one that keeps running,
     * until everything on the page was printed.
     *
     * @throws {Error} with the page, the line and the difference if output or exit status differ from the page.
     */
    type: (block: CommandBlock) => Promise<void>;
  }>;

export async function createReader(): Promise<Reader> {
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-reader-"));
  resources.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 }));
  const binaries = join(folder, "node_modules/.bin");
  await mkdir(binaries, { recursive: true });
  for (const name of ["gatehouse", "gatehouse-evm"]) await symlink(gatehouseProgram, join(binaries, name));
  // npm's own startup would double the time; it resolves the command in the same way.
  if (!isLong) await writeFile(join(binaries, "npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const network = resources.use(await openNetwork());
  const env = {
    PATH: [binaries, dirname(process.execPath), process.env["PATH"]].join(":"),
    HOME: folder,
    NO_COLOR: "1",
    // Otherwise, each node and each command would compile the same code again.
    ...(isLong ? {} : { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }),
    // Services log as on a terminal, although none is attached.
    ...Object.fromEntries(services.map((name) => [`GATEHOUSE_${name}_LOG_FORMAT`, "pretty"])),
  };
  const owned = resources.move();
  const running = new Set<string>();
  return {
    type: async (block) => {
      if (running.has(block.command)) return;
      if (block.runsOn) running.add(block.command);
      const typed = startBlock(block, { network: network.pid, folder, env });
      owned.use(typed);
      await typed.asSaid();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const services = ["SIDECAR", "GATEWAY", "FACILITATOR", "RESOURCE_SERVER", "DEVNET", "UPSTREAM", "PUSHGATEWAY"];

async function openNetwork(): Promise<AsyncDisposable & Readonly<{ pid: number }>> {
  const holder = spawn("unshare", [...ownNetwork, "sh", "-c", "ip link set lo up && echo up && exec sleep 3600"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await within("a network", commandMs, once(holder.stdout, "data"));
  if (holder.pid === undefined) throw new Error("no network");
  return { pid: holder.pid, [Symbol.asyncDispose]: () => end(holder.pid) };
}

type Place = Readonly<{ network: number; folder: string; env: Readonly<Record<string, string | undefined>> }>;

function startBlock(block: CommandBlock, { network, folder, env }: Place) {
  const inNetwork = ["--target", String(network), "--user", "--net", "--preserve-credentials"];
  const child = spawn("nsenter", [...inNetwork, "bash", "-c", block.command], {
    cwd: folder,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  }
  const closed = once(child, "close").then(([status]) => status as number | null);
  const failure = (what: string) => new Error(`${block.page}:${block.line}: ${what}\n${block.command}\n--\n${printed}`);
  const ended = async () => {
    const status = await within("the command's end", commandMs, closed).catch(() => {
      throw failure("did not end");
    });
    const difference = findFirstDifference(block.output, printed);
    if (difference !== undefined) throw failure(difference);
    if (status !== block.status) throw failure(`ended with ${status}, not with ${block.status}`);
  };
  const up = async () => {
    await until("what the page says", commandMs, () => {
      if (child.exitCode !== null) throw failure(`ended with ${child.exitCode}`);
      return findFirstDifference(block.output, printed) === undefined;
    }).catch(() => {
      throw failure(findFirstDifference(block.output, printed) ?? "ended");
    });
  };
  return {
    asSaid: () => (block.runsOn ? up() : ended()),
    [Symbol.asyncDispose]: () => end(child.pid === undefined ? undefined : -child.pid),
  };
}

/** Ends a process, or a whole group if the id is negative, first with SIGTERM and then with SIGKILL. */
async function end(pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  const gone = () => !send(pid, 0);
  send(pid, "SIGTERM");
  await until("the end", stopMs, gone).catch(() => send(pid, "SIGKILL"));
  await until("the end by force", stopMs, gone);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    // The process has exited.
    return false;
  }
}
