import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { listen } from "#daemon/http/listener.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { stopChild } from "#daemon/process/stop-child.ts";
import { waitUntil } from "#daemon/time.ts";
import { formatAuthority } from "#daemon/http/address.ts";
import { startProcess } from "#daemon/process/bounded-process.ts";
import { selectVariables } from "#daemon/process/program-environment.ts";
import { guardByParent } from "../parent-guard.ts";

export type RealPushgatewayOptions = Readonly<{
  /** Name of the program on PATH. */
  program: string;
  host: string;
  port: number;
  /** File that persists the metrics; if unset, memory only. */
  persistenceFile: string | undefined;
}>;

/** The running real Pushgateway. Disposing of it stops it. */
export type RealPushgateway = AsyncDisposable &
  Readonly<{
    url: string;
    /** Resolves with the signal or the status if the program exits on its own. */
    ended: Promise<string>;
  }>;

const startDeadlineMs = 10_000;
const pollMs = 20;
const stopDeadlineMs = 3_000;

/**
 * Runs the real Pushgateway as a child process; its output goes to this process's standard error.
 *
 * @throws {StartupError} when the port is taken, or it exits at once or is not ready within 10 s.
 */
export async function startRealPushgateway(options: RealPushgatewayOptions): Promise<RealPushgateway> {
  const { program, host, port, persistenceFile } = options;
  const address = formatAuthority(host, port);
  const [command, ...args] = guardByParent([
    program,
    `--web.listen-address=${address}`,
    // Passed even when empty: a distribution's build may default to a file shared by every Pushgateway on the machine.
    `--persistence.file=${persistenceFile ?? ""}`,
  ]);
  await requireFreePort(options);
  const child = await startProcess(() =>
    spawn(command, args, { env: selectVariables(), stdio: ["ignore", "inherit", "inherit"] }),
  ).catch((cause: unknown) => {
    throw new StartupError(`${program} can't be run: ${String(cause)}`, { cause });
  });
  let state: "running" | "stopping" | "gone" = "running";
  const { promise: ended, resolve: reportEnd } = Promise.withResolvers<string>();
  child.once("exit", (status, signal) => {
    if (state === "running") reportEnd(signal ?? `status ${status}`);
    state = "gone";
  });
  const url = `http://${address}`;
  const read = async () => ((await isReady(url)) ? "ready" : state);
  const found = await waitUntil(read, (is) => is !== "running", { everyMs: pollMs, withinMs: startDeadlineMs });
  if (found !== "ready") {
    child.kill("SIGKILL");
    throw new StartupError(
      `${program} is not ready at ${url}${found === "running" ? ` within ${startDeadlineMs} ms` : ""}; check its output, or set GATEHOUSE_PUSHGATEWAY_IMPLEMENTATION to stand-in.`,
    );
  }
  return {
    url,
    ended,
    [Symbol.asyncDispose]: async () => {
      if (state === "running") state = "stopping";
      await stopChild(child, { deadlineMs: stopDeadlineMs });
    },
  };
}

/** Requires a free port: otherwise another Pushgateway on the port would respond instead of ours. */
async function requireFreePort({ host, port }: RealPushgatewayOptions): Promise<void> {
  const probe = await listen(createServer(), { host, port, setting: "GATEHOUSE_PUSHGATEWAY_LISTEN_PORT" });
  await probe[Symbol.asyncDispose]();
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(1_000) });
    return response.ok;
  } catch {
    // Nothing listens there yet.
    return false;
  }
}

const versionDeadlineMs = 5_000;

/** Checks whether a program is on PATH by running it with its version option. */
export async function isOnPath(program: string): Promise<boolean> {
  try {
    const child = await startProcess(() =>
      spawn(program, ["--version"], { env: selectVariables(), stdio: "ignore", timeout: versionDeadlineMs }),
    );
    const [status] = await once(child, "exit");
    return status === 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EACCES") return false;
    throw error;
  }
}
