import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "#daemon/startup-error.ts";

/** How the real Pushgateway is run. */
export type RealPushgatewayOptions = Readonly<{
  /** Absolute path of the program. */
  program: string;
  /** Command that ends the program together with this process, where there is one. */
  guard: readonly string[];
  host: string;
  port: number;
  persistenceFile: string | undefined;
}>;

/** The real Pushgateway, running. Disposing of it ends it. */
export type RealPushgateway = AsyncDisposable & Readonly<{ url: string; ended: Promise<string> }>;

const startDeadlineMs = 10_000;
const pollMs = 20;
const stopDeadlineMs = 3_000;

/**
 * Runs the real Pushgateway as a child; what it prints goes to this process's standard error.
 *
 * @throws {StartupError} when it ends at once or is not ready within 10 s.
 */
export async function startRealPushgateway(options: RealPushgatewayOptions): Promise<RealPushgateway> {
  const { program, guard, host, port, persistenceFile } = options;
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const [command = program, ...args] = [
    ...guard,
    program,
    `--web.listen-address=${address}`,
    ...(persistenceFile === undefined ? [] : [`--persistence.file=${persistenceFile}`]),
  ];
  const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"] });
  let running = true;
  const ended = once(child, "exit").then(([status, signal]) => {
    running = false;
    return String(signal ?? `status ${String(status)}`);
  });
  const url = `http://${address}`;
  const deadline = performance.now() + startDeadlineMs;
  while (!(await isReady(url))) {
    if (running && performance.now() < deadline) {
      await sleep(pollMs);
      continue;
    }
    child.kill("SIGKILL");
    throw new StartupError(
      `${program} is not ready at ${url}${running ? ` within ${startDeadlineMs} ms` : ""}; see what it printed, or set GATEHOUSE_PUSHGATEWAY_IMPLEMENTATION to stand-in.`,
    );
  }
  return {
    url,
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), stopDeadlineMs);
      await ended;
      clearTimeout(timer);
    },
  };
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
