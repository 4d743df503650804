import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { createRequire } from "node:module";
import { within } from "#daemon/time.ts";
import type { Logger } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { findRecordedProcess, recordProcess } from "#daemon/recorded-process.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { startProcess } from "#daemon/process/bounded-process.ts";
import { selectVariables } from "#daemon/process/program-environment.ts";
import { guardByParent } from "../parent-guard.ts";

/**
 * Number of past blocks whose state the chain retains in addition to the newest block's, as `node_cli prune --get` promises
 * (`devnet/pruning.ts`). Anvil stores each state in full: 100,000 of them don't fit in memory (measured: 5.7 GB for the first 10,000).
 */
export const retainedStatesMax = 125;

const startDeadlineMs = 10_000;
const outputKeptCharacters = 4_096;

export type AnvilProcessOptions = Readonly<{
  chainId: number;
  /** Directory of this chain. */
  directory: string;
}>;

/** A running anvil without saved state. Disposing of it kills it at once. */
export type AnvilProcess = AsyncDisposable &
  Readonly<{
    url: string;
    pid: number;
    /** Resolves with the cause if the process exits on its own. */
    ended: Promise<Error>;
  }>;

/**
 * Starts anvil on a free loopback port, without automatic mining and without keys.
 *
 * The hardfork is Cancun, because Prague's block hash contract (EIP-2935) adds a slot per block, and anvil copies it with each retained
 * state: measured 14 ms per block after 10,000 blocks, compared with 0.2 ms without the contract.
 *
 * @throws {StartupError} when anvil exits at once or does not listen in time, with its output.
 */
export async function startAnvilProcess(
  options: AnvilProcessOptions,
  { log }: Readonly<{ log: Logger }>,
): Promise<AnvilProcess> {
  const pidFile = join(options.directory, "anvil.pid");
  await endOrphan(pidFile, log);
  const [program, ...args] = guardByParent([findAnvil(), ...buildArguments(options)]);
  const child = await startProcess(() =>
    spawn(program, args, { env: selectVariables(), stdio: ["ignore", "pipe", "pipe"] }),
  ).catch((cause: unknown) => {
    throw new StartupError(`anvil can't be run: ${String(cause)}`, { cause });
  });
  const output = keepEnd(child.stdout);
  const errors = keepEnd(child.stderr);
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (status, signal) => resolve(`exit ${status ?? signal}`));
  });
  const listening = waitForUrl(child, exited, output);
  const url = await within("the start of anvil", startDeadlineMs, listening).catch((cause: unknown) => {
    child.kill("SIGKILL");
    throw new StartupError(`anvil did not start: ${(cause as Error).message}; it printed: ${errors.text()}`, { cause });
  });
  const pid = child.pid ?? 0;
  const { promise: ended, resolve } = Promise.withResolvers<Error>();
  child.once("exit", (status, signal) => {
    if (child.killed) return;
    resolve(new Error(`anvil (process ${pid}) exited (${status ?? signal}); it printed: ${errors.text()}`));
  });
  await recordProcess(pidFile, pid);
  const end = async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(pidFile, { force: true });
  };
  return { url, pid, ended, [Symbol.asyncDispose]: end };
}

/**
 * Timestamp of block 0, 2023-01-01T00:00:00Z. Anvil creates a block 0 at each start and saves it alongside the chain's own. If its
 * timestamp were the start time, a chain restored twice would have several blocks 0, and anvil would pick one at random.
 */
const genesisTimestampSeconds = 1_672_531_200;

function buildArguments(options: AnvilProcessOptions): readonly string[] {
  return [
    ["--host", "127.0.0.1", "--port", "0", "--chain-id", String(options.chainId)],
    ["--hardfork", "cancun", "--no-mining", "--accounts", "0", "--slots-in-an-epoch", "1"],
    ["--prune-history", String(retainedStatesMax), "--no-request-size-limit", "--no-cors"],
    ["--cache-path", join(options.directory, "anvil-cache")],
    ["--timestamp", String(genesisTimestampSeconds)],
  ].flat();
}

type Child = ChildProcessByStdio<null, Readable, Readable>;
type Output = Readonly<{ text: () => string }>;

/** Drains the stream, so that the process never blocks on output, and retains the last part. */
function keepEnd(stream: Readable): Output {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => (text = (text + chunk).slice(-outputKeptCharacters)));
  return { text: () => text.trim() };
}

async function waitForUrl(child: Child, exited: Promise<string>, output: Output): Promise<string> {
  const gone = exited.then((how) => {
    throw new Error(`it exited (${how})`);
  });
  for (;;) {
    const address = /Listening on (\S+)/.exec(output.text())?.[1];
    if (address !== undefined) return `http://${address}`;
    await Promise.race([once(child.stdout, "data"), gone]);
  }
}

/** Kills the anvil that an earlier node left behind. Does nothing without /proc, because the process id may have been reused. */
async function endOrphan(pidFile: string, log: Logger): Promise<void> {
  const { pid, startTicks } = (await findRecordedProcess(pidFile)) ?? { pid: 0, startTicks: 0 };
  if (startTicks === 0) return;
  log.warn({ event: "anvil-left-behind", pid }, "terminating an anvil process left over from an earlier run");
  sendSignal(pid, "SIGKILL");
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/**
 * Finds anvil's native binary in the npm package for this platform. The package's own `anvil` command is a Node wrapper, which slows the
 * start and hides the binary's process id.
 *
 * @throws {StartupError} when npm installed none for this machine.
 */
export function findAnvil(platform: NodeJS.Platform = process.platform, architecture: string = process.arch): string {
  const name = `@foundry-rs/anvil-${platform}-${architectures[architecture] ?? architecture}`;
  const { resolve } = createRequire(import.meta.url);
  try {
    // Where npm does not hoist (a global install, pnpm), the native package is nested below its dependent.
    return createRequire(resolve("@foundry-rs/anvil/package.json")).resolve(`${name}/bin/anvil`);
  } catch (cause) {
    throw new StartupError(
      `no anvil for this machine: the npm package ${name} is not installed; run npm ci in the repository, or npm install @foundry-rs/anvil next to the package gatehouse-evm, with optional dependencies, on Linux or macOS.`,
      { cause },
    );
  }
}
