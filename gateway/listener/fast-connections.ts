import type { Server } from "node:http";
import type { ListenerConnections } from "#daemon/http/connections/listener-connections.ts";
import type { Socket } from "node:net";
import type { Identify } from "../callers/identify.ts";
import type { BodyAdmission } from "../calls/body-admission.ts";
import type { MessageHandler } from "../calls/message-handler.ts";
import type { PolicySource } from "../policy.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { shareMessageHeads } from "../wire/message-head.ts";
import { createOutbox } from "../wire/outbox.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import type { ResponseHeaders } from "./answer-head.ts";
import { putBefore } from "#daemon/http/raw-connections.ts";
import { createFastResponseHeads } from "./fast-answer.ts";
import { FastConnection } from "./fast-connection.ts";
import type { FastConnectionWaits } from "./fast-connection-dependencies.ts";
import { computeSweepIntervalMs } from "./fast-wait.ts";
import type { PeerInfo, RequestInfo } from "../callers/request-facts.ts";

export type FastPathDependencies = Readonly<{
  policy: PolicySource;
  identify: Identify;
  handle: MessageHandler;
  turns: SharedTurns;
  memory: MemoryBudget;
  addressOf: (peer: PeerInfo) => string;
  isAllowedHost: (host: string | undefined) => boolean;
  bodies: BodyAdmission;
  ageHeaders: () => ResponseHeaders;
  corsHeaders: (origin: string) => ResponseHeaders | undefined;
  isDraining: () => boolean;
  /** The listener's connections, including those on the fast path. */
  connections: ListenerConnections;
}>;

/**
 * Installs the fast path in front of a node:http server: the fast path gets every new connection first and passes on those it can't serve.
 * Call this before the server listens. Disposal stops the timeout checks but does not close connections.
 */
export function serveFastConnections(
  server: Server,
  waits: FastConnectionWaits,
  {
    policy,
    identify,
    handle,
    turns,
    memory,
    addressOf,
    isAllowedHost,
    bodies,
    corsHeaders,
    ageHeaders,
    isDraining,
    connections,
  }: FastPathDependencies,
): Disposable {
  const fast = new Set<FastConnection>();
  let now = performance.now();
  const sweep = setInterval(() => {
    now = performance.now();
    for (const connection of fast) connection.expire(now);
  }, computeSweepIntervalMs(waits));
  sweep.unref();
  const dependencies = {
    heads: createFastResponseHeads(waits.idleTimeoutMs, { wallClock: Date.now, ageHeaders, isDraining }),
    outbox: createOutbox(),
    identify,
    handle,
    turns,
    memory,
    addressOf,
    bodyBytes: () => policy().settings.limits.bodyBytes,
    isAllowedHost,
    mayCome: (facts: RequestInfo, lengthBytes: number) => mayCome(facts, lengthBytes, { identify, bodies }),
    corsHeaders,
    keepHead: shareMessageHeads(),
    isDraining,
    waits,
    clock: () => now,
  };
  putBefore(server, (behind) => {
    const handOver = (socket: Socket, unread: Buffer) => {
      socket.unshift(unread);
      behind(socket);
    };
    return (socket) => {
      const closed = () => {
        fast.delete(connection);
        connections.serve(socket, undefined);
      };
      const connection = new FastConnection(socket, { ...dependencies, handOver, closed });
      fast.add(connection);
      connections.serve(socket, connection);
    };
  });
  return { [Symbol.dispose]: () => clearInterval(sweep) };
}

function mayCome(
  facts: RequestInfo,
  lengthBytes: number,
  { identify, bodies }: Pick<FastPathDependencies, "identify" | "bodies">,
): boolean {
  const identity = bodies.isLarge(lengthBytes) ? identify(facts) : undefined;
  if (identity === undefined || identity instanceof Promise) return true;
  return identity.kind === "caller" && bodies.waitSeconds(identity.caller, lengthBytes) === undefined;
}
