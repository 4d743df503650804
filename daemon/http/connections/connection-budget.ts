import { performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Registry } from "prom-client";
import { readProcessMemoryBytes } from "../../process/process-memory.ts";
import type { ConnectionSettings } from "../settings.ts";
import { createConnectionMetrics } from "./connection-metrics.ts";
import { type Descriptors, countOwnDescriptors } from "./descriptors.ts";
import { ListenerConnections } from "./listener-connections.ts";

/** One listener's share of the process's connections. */
export type ListenerShare = Readonly<{
  /** Name in metrics. */
  name: string;
  /** Whether it leaves a quarter to other listeners, because anybody may connect to it. */
  leavesRoom?: boolean;
}>;

/** Connections and descriptors of the process at one moment. */
export type ConnectionState = Readonly<{
  /** Clients' connections, those of the operators' listener not counted, and how many there may be now. */
  open: number;
  most: number;
  /** File descriptors of the process; `used` is undefined if the system does not say. */
  descriptors: Readonly<{ used: number | undefined; limit: number }>;
  /** Resource or setting that limits connections. */
  bound: "descriptors" | "memory" | "setting";
  /** Milliseconds since a connection was last refused or closed for want of room; undefined: never. */
  fullForMs: number | undefined;
}>;

/** The connections that a process may hold, shared by its listeners. Disposing of it ends its looks at the descriptors. */
export type ConnectionBudget = Disposable &
  Readonly<{
    /** The connections of a listener for clients, out of what all share. */
    listener: (share: ListenerShare) => ListenerConnections;
    /** The connections of the operators' listener, out of the reserve: probes are answered while all others are taken. */
    operators: () => ListenerConnections;
    state: () => ConnectionState;
  }>;

export type ConnectionBudgetDependencies = Readonly<{
  descriptors: Descriptors;
  /** Bytes that the process may use, and of these its heap. */
  memoryBytes: number;
  heapBytes: number;
  metrics: Registry;
  clock: () => number;
}>;

/**
 * Memory that a connection may hold before its bytes are counted: its socket (9 KiB, measured), and up to 16 KiB of an
 * incomplete request, in a buffer that may be twice as large.
 */
const connectionBytes = 40 * 1_024;
/** Connections may take this part of the memory; what is counted has its own quarter, and may stand in memory twice for a moment. */
const memoryShare = 1 / 4;
/** Heap that a connection takes: a WebSocket 12 KiB, measured, and its subscriptions. */
const connectionHeapBytes = 20 * 1_024;
/** Connections may take this part of the heap's limit, of which V8's young generation has up to 96 MiB; a service's own code and data take some 40 MiB. */
const heapShare = 1 / 3;
/** Connections that are allowed however little memory there is. */
const memoryLeast = 64;
/** Time between two looks at what the process has open. */
const lookMs = 1_000;
/** Under a low limit the reserve is this part of it, so that clients have the rest. */
const reserveShare = 3 / 4;
/** Descriptors that stay free in addition to those in use: a program that is run takes six for a moment. */
const spareDescriptors = 16;
/** Under a low limit they are at most this part of it. */
const spareShare = 1 / 8;
/** Most connections to the operators' listener: a Prometheus, probes, and a page or two in a browser, six each. */
const operatorsMost = 32;
/** Under a low limit they are this part of it, and a few at least. */
const operatorsShare = 1 / 8;
const operatorsLeast = 4;
/** Least burst of an address's new connections, in seconds' worth of its rate. */
const burstSeconds = 3;
/** Part of all connections that a listener that leaves room may take. */
const anybodyShare = 3 / 4;

/** Creates the budget of a process's connections, and keeps it by looking at what else the process has open. */
export function createConnectionBudget(
  { connections, connectionsPerAddress, newConnectionsPerAddress, descriptorReserve }: ConnectionSettings,
  { descriptors, memoryBytes, heapBytes, metrics: registry, clock }: ConnectionBudgetDependencies,
): ConnectionBudget {
  const mostByMemory = computeConnectionLimit({ memoryBytes, heapBytes });
  const mostByDescriptors = createDescriptorLimit(descriptors.limit, descriptorReserve);
  const { limit } = descriptors;
  const shared: ListenerConnections[] = [];
  // What an address may have open it may also make at once.
  const burst = Math.max(connectionsPerAddress, burstSeconds * newConnectionsPerAddress);
  const makers = new NewConnections({ perSecond: newConnectionsPerAddress, burst }, clock);
  const byName = new Map<string, ListenerConnections>();
  const state = { used: descriptors.used(), most: Number.POSITIVE_INFINITY, fullAtMs: undefined as number | undefined };
  const open = () => shared.reduce((all, { size }) => all + size, 0);
  const look = () => {
    state.used = descriptors.used();
    const clients = byName.values().reduce((all, { size, leaving }) => all + size + leaving, 0);
    state.most = Math.max(1, Math.min(mostByMemory, mostByDescriptors((state.used ?? 0) - clients)));
    const surplus = open() - state.most;
    if (surplus > 0) shared.some((listener) => listener.shed(surplus));
  };
  look();
  const looks = setInterval(look, lookMs).unref();
  const most = () => Math.min(state.most, connections * shared.length);
  const metrics = createConnectionMetrics(registry, {
    open: () => new Map([...byName].map(([name, { size }]) => [name, size])),
    most,
  });
  const add = (name: string, room: Readonly<{ most: () => number; hasRoom: () => boolean; isShared: boolean }>) => {
    const wasFull = () => void (room.isShared ? (state.fullAtMs = clock()) : undefined);
    const shedElsewhere = () => shared.some((listener) => listener !== added && listener.shed());
    const mostOfAddress = () => Math.min(connectionsPerAddress, Math.max(1, Math.floor(room.most() / 2)));
    const added: ListenerConnections = new ListenerConnections({
      ...room,
      name,
      mostOfAddress,
      mayMake: (address) => makers.mayMake(address),
      shedElsewhere,
      wasFull,
      metrics,
      clock,
    });
    byName.set(name, added);
    return added;
  };
  return {
    listener: ({ name, leavesRoom = false }) => {
      const share = leavesRoom ? anybodyShare : 1;
      const made = add(name, {
        most: () => Math.min(connections, Math.max(1, Math.floor(state.most * share))),
        hasRoom: () => open() < state.most,
        isShared: true,
      });
      shared.push(made);
      return made;
    },
    operators: () => {
      const own = Math.max(operatorsLeast, Math.min(operatorsMost, Math.floor(limit * operatorsShare)));
      return add("operations", { most: () => own, hasRoom: () => true, isShared: false });
    },
    state: () => ({
      open: open(),
      most: most(),
      descriptors: { used: state.used, limit },
      bound: findBound(state.most, { mostByMemory, connections }),
      fullForMs: state.fullAtMs === undefined ? undefined : clock() - state.fullAtMs,
    }),
    [Symbol.dispose]: () => clearInterval(looks),
  };
}

/** Computes how many connections the memory has room for. */
function computeConnectionLimit({
  memoryBytes,
  heapBytes,
}: Pick<ConnectionBudgetDependencies, "memoryBytes" | "heapBytes">): number {
  const inMemory = (memoryBytes * memoryShare) / connectionBytes;
  const inHeap = (heapBytes * heapShare) / connectionHeapBytes;
  return Math.max(memoryLeast, Math.floor(Math.min(inMemory, inHeap)));
}

/** Returns a function that computes the descriptors that clients' connections may have besides the `others` that are open. */
function createDescriptorLimit(limit: number, descriptorReserve: number): (others: number) => number {
  const reserve = Math.min(descriptorReserve, Math.floor(limit * reserveShare));
  const spare = Math.min(spareDescriptors, Math.floor(limit * spareShare));
  return (others) => limit - Math.max(reserve, others + spare);
}

function findBound(
  most: number,
  { mostByMemory, connections }: Readonly<{ mostByMemory: number; connections: number }>,
): ConnectionState["bound"] {
  if (most >= connections) return "setting";
  return most === mostByMemory ? "memory" : "descriptors";
}

/** Creates the budget of this process's connections, by its memory and by the file descriptors that it may have open. */
export function boundProcessConnections(
  settings: ConnectionSettings,
  { metrics }: Readonly<{ metrics: Registry }>,
): ConnectionBudget {
  return createConnectionBudget(settings, {
    descriptors: countOwnDescriptors(),
    memoryBytes: readProcessMemoryBytes(),
    heapBytes: getHeapStatistics().heap_size_limit,
    metrics,
    // That of the gateway's fast path, whose connections have their own timeouts.
    clock: () => performance.now(),
  });
}

/** Addresses that are remembered; of more the ones that made none for longest are forgotten. */
const rememberedMost = 100_000;
const msOfSecond = 1_000;

/** Limits how fast each address makes connections. Only addresses that have made some within their burst's time are remembered. */
export class NewConnections {
  readonly #stepMs: number;
  readonly #burstMs: number;
  readonly #clock: () => number;
  /** Time at which each address will have its whole burst again; the last to make a connection stands last. */
  readonly #settledAtMs = new Map<string, number>();

  /** An address that has made none for long makes `burst` at once: a page, or a client that comes back, makes many and then none. */
  constructor({ perSecond, burst }: Readonly<{ perSecond: number; burst: number }>, clock: () => number) {
    this.#stepMs = msOfSecond / perSecond;
    this.#burstMs = burst * this.#stepMs;
    this.#clock = clock;
  }

  /** Whether an address may make one more now, which then counts. What is refused does not. */
  mayMake(address: string): boolean {
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
      if (settledAtMs > nowMs && this.#settledAtMs.size <= rememberedMost) return;
      this.#settledAtMs.delete(address);
    }
  }
}
