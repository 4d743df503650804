import { performance } from "node:perf_hooks";
import type { Registry } from "prom-client";
import { readMemoryLimits } from "../../memory/memory-budget.ts";
import type { ConnectionSettings } from "../settings.ts";
import { createConnectionMetrics } from "./connection-metrics.ts";
import { type Descriptors, countOwnDescriptors } from "./descriptors.ts";
import { ListenerConnections } from "./listener-connections.ts";

export type ListenerShare = Readonly<{
  name: string;
  /** Whether the listener leaves a quarter of the connections to other listeners, because it is public. */
  leavesRoom?: boolean;
}>;

/** A snapshot of the process's connections and descriptors. */
export type ConnectionState = Readonly<{
  /** Open client connections, without those on the admin port, and their current limit. */
  open: number;
  max: number;
  /** File descriptors of the process; `used` is undefined if the system doesn't report it. */
  descriptors: Readonly<{ used: number | undefined; limit: number }>;
  /** Resource or setting that limits connections. */
  bound: "descriptors" | "memory" | "setting";
  /** Milliseconds since a connection was last rejected or closed because the limit was reached; undefined if that never happened. */
  fullForMs: number | undefined;
}>;

/** The process's connection limit, shared by its listeners. Disposing of it stops the descriptor checks. */
export type ConnectionBudget = Disposable &
  Readonly<{
    /** Connections of a client listener, which count toward the shared limit. */
    listener: (share: ListenerShare) => ListenerConnections;
    /** Connections on the admin port, from the reserve: probes get responses even when all others are in use. */
    operators: () => ListenerConnections;
    state: () => ConnectionState;
  }>;

export type ConnectionBudgetDependencies = Readonly<{
  descriptors: Descriptors;
  memoryBytes: number;
  heapBytes: number;
  metrics: Registry;
  clock: () => number;
}>;

/** Uncounted memory of a connection: its socket (9 KiB, measured) and up to 16 KiB of a request, in a buffer of twice that size. */
const connectionBytes = 40 * 1_024;
/** Share of the memory for connections. Counted bytes have a separate quarter, and may briefly be in memory twice. */
const memoryShare = 1 / 4;
/** Heap that a connection uses: a WebSocket (12 KiB, measured) and its subscriptions. */
const connectionHeapBytes = 20 * 1_024;
/** Share of the heap limit for connections; V8's young generation takes up to 96 MiB of the heap, a service's own code and data some 40 MiB. */
const heapShare = 1 / 3;
const memoryMin = 64;
const updateIntervalMs = 1_000;
/** If the descriptor limit is low, the reserve is at most this share of it; clients get the rest. */
const reserveShare = 3 / 4;
/** Descriptors that stay free in addition to those in use: starting a program briefly takes six. */
const spareDescriptors = 16;
/** If the descriptor limit is low, the spare descriptors are at most this share of it. */
const spareShare = 1 / 8;
/** Max connections on the admin port: for Prometheus, probes, and a page or two in a browser, with six connections each. */
const operatorsMax = 32;
/** If the descriptor limit is low, the max connections on the admin port are this share of it, with a small minimum. */
const operatorsShare = 1 / 8;
const operatorsMin = 4;
/** Min burst of new connections from one address, in seconds of its permitted rate. */
const burstSeconds = 3;
/** Share of all connections that a public listener may use. */
const publicShare = 3 / 4;

/** Creates the connection budget of a process, and adjusts it to the process's other open descriptors. */
export function createConnectionBudget(
  { connections, connectionsPerAddress, newConnectionsPerAddress, descriptorReserve }: ConnectionSettings,
  { descriptors, memoryBytes, heapBytes, metrics: registry, clock }: ConnectionBudgetDependencies,
): ConnectionBudget {
  const inMemory = (memoryBytes * memoryShare) / connectionBytes;
  const inHeap = (heapBytes * heapShare) / connectionHeapBytes;
  const maxByMemory = Math.max(memoryMin, Math.floor(Math.min(inMemory, inHeap)));
  const { limit } = descriptors;
  const reserve = Math.min(descriptorReserve, Math.floor(limit * reserveShare));
  const spare = Math.min(spareDescriptors, Math.floor(limit * spareShare));
  const sharedListeners: ListenerConnections[] = [];
  // An address may open all its allowed connections at once.
  const burst = Math.max(connectionsPerAddress, burstSeconds * newConnectionsPerAddress);
  const newConnections = new NewConnections({ perSecond: newConnectionsPerAddress, burst }, clock);
  const byName = new Map<string, ListenerConnections>();
  const state = { used: descriptors.used(), max: Number.POSITIVE_INFINITY, fullAtMs: undefined as number | undefined };
  const open = () => sharedListeners.reduce((all, { size }) => all + size, 0);
  const update = () => {
    state.used = descriptors.used();
    const clients = byName.values().reduce((all, { size, leaving }) => all + size + leaving, 0);
    state.max = Math.max(1, Math.min(maxByMemory, limit - Math.max(reserve, (state.used ?? 0) - clients + spare)));
    const surplus = open() - state.max;
    if (surplus > 0) sharedListeners.some((listener) => listener.shed(surplus));
  };
  update();
  const updateTimer = setInterval(update, updateIntervalMs).unref();
  const max = () => Math.min(state.max, connections * sharedListeners.length);
  const metrics = createConnectionMetrics(registry, {
    open: () => new Map([...byName].map(([name, { size }]) => [name, size])),
    max,
  });
  const add = (name: string, room: Readonly<{ max: () => number; hasRoom: () => boolean; isShared: boolean }>) => {
    const added: ListenerConnections = new ListenerConnections({
      ...room,
      name,
      maxPerAddress: () => Math.min(connectionsPerAddress, Math.max(1, Math.floor(room.max() / 2))),
      mayOpen: (address) => newConnections.mayOpen(address),
      shedElsewhere: () => sharedListeners.some((listener) => listener !== added && listener.shed()),
      wasFull: () => void (room.isShared && (state.fullAtMs = clock())),
      metrics,
      clock,
    });
    byName.set(name, added);
    return added;
  };
  return {
    listener: ({ name, leavesRoom = false }) => {
      const share = leavesRoom ? publicShare : 1;
      const made = add(name, {
        max: () => Math.min(connections, Math.max(1, Math.floor(state.max * share))),
        hasRoom: () => open() < state.max,
        isShared: true,
      });
      sharedListeners.push(made);
      return made;
    },
    operators: () => {
      const own = Math.max(operatorsMin, Math.min(operatorsMax, Math.floor(limit * operatorsShare)));
      return add("operations", { max: () => own, hasRoom: () => true, isShared: false });
    },
    state: () => ({
      open: open(),
      max: max(),
      descriptors: { used: state.used, limit },
      bound: state.max >= connections ? "setting" : state.max === maxByMemory ? "memory" : "descriptors",
      fullForMs: state.fullAtMs === undefined ? undefined : clock() - state.fullAtMs,
    }),
    [Symbol.dispose]: () => clearInterval(updateTimer),
  };
}

export function limitProcessConnections(
  settings: ConnectionSettings,
  { metrics }: Readonly<{ metrics: Registry }>,
): ConnectionBudget {
  const { processBytes: memoryBytes, heapBytes } = readMemoryLimits();
  return createConnectionBudget(settings, {
    descriptors: countOwnDescriptors(),
    memoryBytes,
    heapBytes,
    metrics,
    // The gateway's fast path, whose connections have their own timeouts, uses the same clock.
    clock: () => performance.now(),
  });
}

/** Max addresses tracked; beyond that, those that have gone longest without new connections are dropped. */
const rememberedMax = 100_000;
const msOfSecond = 1_000;

/** Limits the rate of new connections per address. Remembers an address only until its full burst is available again. */
export class NewConnections {
  readonly #stepMs: number;
  readonly #burstMs: number;
  readonly #clock: () => number;
  /** Time at which each address's full burst is available again, ordered by the last new connection. */
  readonly #settledAtMs = new Map<string, number>();

  /** An address without recent connections may open `burst` at once: a page, or a returning client, opens many and then none. */
  constructor({ perSecond, burst }: Readonly<{ perSecond: number; burst: number }>, clock: () => number) {
    this.#stepMs = msOfSecond / perSecond;
    this.#burstMs = burst * this.#stepMs;
    this.#clock = clock;
  }

  /** Checks whether an address may open another connection now, and if so, counts the connection. Rejected connections don't count. */
  mayOpen(address: string): boolean {
    const nowMs = this.#clock();
    const settledAtMs = Math.max(nowMs, this.#settledAtMs.get(address) ?? nowMs);
    if (settledAtMs + this.#stepMs - nowMs > this.#burstMs) return false;
    this.#settledAtMs.delete(address);
    this.#settledAtMs.set(address, settledAtMs + this.#stepMs);
    this.#forget(nowMs);
    return true;
  }

  #forget(nowMs: number): void {
    for (const [address, settledAtMs] of this.#settledAtMs) {
      if (settledAtMs > nowMs && this.#settledAtMs.size <= rememberedMax) return;
      this.#settledAtMs.delete(address);
    }
  }
}
