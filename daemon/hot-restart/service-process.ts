import { spawn, type ChildProcess, type SendHandle } from "node:child_process";
import { once } from "node:events";
import { ignoreStreamErrors } from "../log/bounded-output.ts";
import { ownProgram } from "../command-line/own-command.ts";
import { pause } from "../time.ts";
import { hotRestartVariable, type HotRestartMessage, type ServiceMessage, type ServiceStep } from "./messages.ts";
import type { SocketHandle } from "./socket-exchange.ts";

export type HeldSockets = ReadonlyMap<string, readonly SocketHandle[]>;

export type ServiceProcess = Readonly<{
  /** Resolves to true once the process reaches the step, to false if it exits first. */
  reached: (step: ServiceStep) => Promise<boolean>;
  /** Resolves to the exit status, or to null if a signal killed the process. */
  ended: Promise<number | null>;
  urls: () => Readonly<Record<string, string>>;
  /** The sockets that the process listens on, both inherited and its own. */
  listensOn: (given: HeldSockets) => HeldSockets;
  send: (message: HotRestartMessage, handle?: SocketHandle) => void;
  signal: (name: NodeJS.Signals) => void;
  lastWords: () => string;
}>;

/** Characters of standard error retained to explain why a process exited. */
const outputKept = 4_096;

/** Time to wait for the last output from an exited process: its children may hold the pipe open. */
const lastOutputMs = 500;

/** Time limit for a process to read its settings, even on a busy machine. */
const preparedWithinMs = 120_000;

/** Time limit for a process to release its resources: it first finishes a node restart in progress. */
const yieldWithinMs = 3_600_000;

/** Starts a service process, which reads its settings from the given file and then waits. */
export function startServiceProcess(
  service: string,
  settingsPath: string,
  environment: NodeJS.ProcessEnv,
): ServiceProcess {
  const [program, ...programArguments] = ownProgram;
  let child: ChildProcess;
  try {
    child = spawnService([program, ...programArguments, service, "--settings", settingsPath], environment);
  } catch (error) {
    return describeUnstarted(`${program} can't be run: ${(error as Error).message}`);
  }
  return followService(child);
}

/**
 * Returns an exited process for a service whose program could not be started. Node throws some of these errors synchronously (ETXTBSY,
 * ENOMEM, E2BIG).
 */
function describeUnstarted(why: string): ServiceProcess {
  return {
    reached: () => Promise.resolve(false),
    ended: Promise.resolve(1),
    urls: () => ({}),
    listensOn: (given) => given,
    send: () => undefined,
    signal: () => undefined,
    lastWords: () => why,
  };
}

function spawnService(
  [program, ...args]: readonly [string, ...string[]],
  environment: NodeJS.ProcessEnv,
): ChildProcess {
  return spawn(program, args, {
    env: { ...environment, [hotRestartVariable]: "1" },
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    // Ctrl-C in a terminal reaches only this process, which forwards it once.
    detached: true,
  });
}

function followService(child: ChildProcess): ServiceProcess {
  const steps = {
    prepared: Promise.withResolvers<boolean>(),
    ready: Promise.withResolvers<boolean>(),
    yielded: Promise.withResolvers<boolean>(),
  };
  const offeredSockets = new Map<string, SocketHandle[]>();
  const used = new Set<string>();
  let urls: Readonly<Record<string, string>> = {};
  let words = "";
  child.on("message", (message: ServiceMessage, handle: unknown) => {
    if (message.type === "uses") used.add(message.name);
    else if (message.type === "socket") {
      if (handle !== undefined)
        offeredSockets.set(message.name, [...(offeredSockets.get(message.name) ?? []), handle as SocketHandle]);
    } else {
      if (message.type === "ready") ({ urls } = message);
      steps[message.type].resolve(true);
    }
  });
  ignoreStreamErrors(process.stderr);
  child.stderr?.on("data", (piece: Buffer) => {
    process.stderr.write(piece);
    words = `${words}${piece.toString()}`.slice(-outputKept);
  });
  // The exit reports a broken channel or a failed spawn.
  child.on("error", (error) => (words = `${words}${error.message}\n`.slice(-outputKept)));
  const late = setTimeout(() => child.kill("SIGKILL"), preparedWithinMs).unref();
  void steps.prepared.promise.then(() => clearTimeout(late));
  const ended = waitForExit(child).then((status) => {
    for (const { resolve } of Object.values(steps)) resolve(false);
    return status;
  });
  return {
    reached: (step) => steps[step].promise,
    ended,
    urls: () => urls,
    listensOn: (given) => new Map([...[...given].filter(([name]) => used.has(name)), ...offeredSockets]),
    send: (message, handle) => {
      if (child.connected) child.send(message, handle as unknown as SendHandle, {}, () => undefined);
    },
    signal: (name) => void child.kill(name),
    lastWords: () => words.trim(),
  };
}

async function waitForExit(child: ChildProcess): Promise<number | null> {
  const closeEvent = once(child, "close").catch(() => undefined);
  const status = await new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", () => {
      if (child.pid === undefined) resolve(1);
    });
  });
  await Promise.race([closeEvent, pause(lastOutputMs)]);
  return status;
}

/** Asks a process to release all exclusive resources, and waits until it has released them or exited. */
export async function waitForRelease(one: ServiceProcess): Promise<void> {
  one.send({ type: "yield" });
  const late = setTimeout(() => one.signal("SIGKILL"), yieldWithinMs);
  await one.reached("yielded");
  clearTimeout(late);
}
