import { spawn, type ChildProcess, type SendHandle } from "node:child_process";
import { once } from "node:events";
import { outlivesReader } from "../log/bounded-output.ts";
import { ownProgram } from "../command-line/own-command.ts";
import { pause } from "../time.ts";
import { handOverVariable, type HandOverMessage, type ServiceMessage, type ServiceStep } from "./messages.ts";
import type { SocketHandle } from "./socket-exchange.ts";

/** Listening sockets by the names of their listeners. */
export type HeldSockets = ReadonlyMap<string, readonly SocketHandle[]>;

/** A process of a service. */
export type ServiceProcess = Readonly<{
  /** Resolves with whether it reached the step; one that ends before has not. */
  reached: (step: ServiceStep) => Promise<boolean>;
  /** Resolves with its exit status when it has ended; null if a signal ended it. */
  ended: Promise<number | null>;
  /** The URLs that it said it serves. */
  urls: () => Readonly<Record<string, string>>;
  /** The sockets that it listens on, both those that it was given and its own. */
  listensOn: (given: HeldSockets) => HeldSockets;
  send: (message: HandOverMessage, handle?: SocketHandle) => void;
  signal: (name: NodeJS.Signals) => void;
  /** The end of what it wrote to standard error. */
  lastWords: () => string;
}>;

/** Characters of standard error that are kept to say why a process ended. */
const wordsKept = 4_096;

/** Time to wait for the last output of a process that has ended: its children may hold the pipe open. */
const lastWordsMs = 500;

/** Time that a process may take to read its settings, on a busy machine. */
const preparedWithinMs = 120_000;

/** Time that a process may take to let go: a restart of the node that it has begun is ended first. */
const yieldWithinMs = 3_600_000;

/** Starts a process of a service, which reads its settings from that file, and then waits. */
export function startServiceProcess(
  service: string,
  settingsPath: string,
  environment: NodeJS.ProcessEnv,
): ServiceProcess {
  const [program, ...before] = ownProgram;
  let child: ChildProcess;
  try {
    child = spawnService([program, ...before, service, "--settings", settingsPath], environment);
  } catch (error) {
    return describeUnstarted(`${program} can't be run: ${(error as Error).message}`);
  }
  return followService(child);
}

/** Describes a service whose program could not be started: it has ended. Node throws some of the reasons at once (ETXTBSY, ENOMEM, E2BIG). */
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
    env: { ...environment, [handOverVariable]: "1" },
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    // Ctrl-C on a terminal reaches this process alone, which passes it on once.
    detached: true,
  });
}

function followService(child: ChildProcess): ServiceProcess {
  const steps = {
    prepared: Promise.withResolvers<boolean>(),
    ready: Promise.withResolvers<boolean>(),
    yielded: Promise.withResolvers<boolean>(),
  };
  const offered = new Map<string, SocketHandle[]>();
  const used = new Set<string>();
  let urls: Readonly<Record<string, string>> = {};
  let words = "";
  child.on("message", (message: ServiceMessage, handle: unknown) => {
    if (message.type === "uses") used.add(message.name);
    else if (message.type === "socket") {
      if (handle !== undefined)
        offered.set(message.name, [...(offered.get(message.name) ?? []), handle as SocketHandle]);
    } else {
      if (message.type === "ready") ({ urls } = message);
      steps[message.type].resolve(true);
    }
  });
  outlivesReader(process.stderr);
  child.stderr?.on("data", (piece: Buffer) => {
    process.stderr.write(piece);
    words = `${words}${piece.toString()}`.slice(-wordsKept);
  });
  // A channel that breaks, and a program that can't be started, are reported by the end.
  child.on("error", (error) => (words = `${words}${error.message}\n`.slice(-wordsKept)));
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
    listensOn: (given) => new Map([...[...given].filter(([name]) => used.has(name)), ...offered]),
    send: (message, handle) => {
      if (child.connected) child.send(message, handle as unknown as SendHandle, {}, () => undefined);
    },
    signal: (name) => void child.kill(name),
    lastWords: () => words.trim(),
  };
}

async function waitForExit(child: ChildProcess): Promise<number | null> {
  const closed = once(child, "close").catch(() => undefined);
  const status = await new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", () => {
      if (child.pid === undefined) resolve(1);
    });
  });
  await Promise.race([closed, pause(lastWordsMs)]);
  return status;
}

/** Has a process let go of all that one alone may hold, and waits until it said so, or has ended. */
export async function waitForRelease(one: ServiceProcess): Promise<void> {
  one.send({ type: "yield" });
  const late = setTimeout(() => one.signal("SIGKILL"), yieldWithinMs);
  await one.reached("yielded");
  clearTimeout(late);
}
