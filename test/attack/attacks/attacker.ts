import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { formatAttackerAddress, type Target } from "./attack.ts";

/** Min time between two actions of one attacker, which leaves CPU time for the measured callers. */
const breathMs = 5;
/** Max time that an attacker waits for a response. */
const answerTimeoutMs = 20_000;

let reached = 0;

/** Records that an attacker has reached the gateway: a connection was opened, or a response arrived. */
export function countReached(): void {
  reached += 1;
}

/** Returns how often attackers have reached the gateway since the last `takeReached`. */
export function peekReached(): number {
  return reached;
}

/** Returns how often attackers have reached the gateway since the last call. */
export function takeReached(): number {
  const count = reached;
  reached = 0;
  return count;
}

/** Repeats an action until the signal aborts, as this many numbered attackers; failures are expected. */
export async function asMany(
  count: number,
  signal: AbortSignal,
  deed: (attacker: number) => Promise<unknown>,
  pauseMs = breathMs,
): Promise<void> {
  const one = async (attacker: number) => {
    while (!signal.aborted) {
      await deed(attacker).catch(() => undefined);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: count }, (_, attacker) => one(attacker)));
}

/** Opens a connection for one attacker, and ignores the outcome. */
export function openAttackingSocket({ host, port }: Target, attacker: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port, localAddress: formatAttackerAddress(attacker) });
  const end = () => socket.destroy();
  socket.on("error", end);
  signal.addEventListener("abort", end, { once: true });
  socket.on("close", () => signal.removeEventListener("abort", end));
  return new Promise((resolve, reject) => {
    socket.once("connect", () => {
      countReached();
      resolve(socket);
    });
    socket.once("close", () => reject(new Error("rejected")));
  });
}

/** Waits until a connection is closed, or for at most this time. */
export function waitUntilClosed(socket: Socket, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs);
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    if (socket.destroyed) resolve();
  });
}

/**
 * Posts bodies over keep-alive connections from this many addresses, one request at a time per connection, and reads the responses.
 */
export function createPoster(target: Target, signal: AbortSignal, addresses: number) {
  const agents = new Map<number, Agent>();
  signal.addEventListener("abort", () => agents.forEach((agent) => agent.destroy()), { once: true });
  return (attacker: number, body: Buffer | string): Promise<number> => {
    const agent = agents.get(attacker) ?? new Agent({ keepAlive: true, maxSockets: 1 });
    agents.set(attacker, agent);
    return postFrom(target, "/", attacker % addresses, body, signal, agent);
  };
}

/** Posts JSON to a path, by default over a new connection, and reads the response; returns its status. */
export function postFrom(
  { host, port }: Target,
  path: string,
  attacker: number,
  body: Buffer | string,
  signal: AbortSignal,
  agent: Agent | false = false,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const own = { localAddress: formatAttackerAddress(attacker), agent, timeout: answerTimeoutMs, signal };
    const sent = httpRequest({ host, port, path, method: "POST", headers, ...own }, (response) => {
      countReached();
      response.on("end", () => resolve(response.statusCode ?? 0));
      response.on("error", reject);
      response.resume();
    });
    sent.on("error", reject);
    sent.on("timeout", () => sent.destroy(new Error("timeout")));
    sent.end(body);
  });
}

/** Builds a JSON-RPC call; `params` is JSON text. */
export function buildCall(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
}

/** Builds a complete HTTP request with a body. */
export function buildRequest(body: string, ...headers: readonly string[]): string {
  const head = ["POST / HTTP/1.1", "Host: a", "Content-Type: application/json", ...headers];
  return `${[...head, `Content-Length: ${Buffer.byteLength(body)}`].join("\r\n")}\r\n\r\n${body}`;
}
