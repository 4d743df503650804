import type { Registry } from "prom-client";
import { connectionMetrics } from "./connection-metrics.ts";
import { type Descriptors, ownDescriptors } from "./descriptors.ts";
import { ListenerConnections } from "./listener-connections.ts";
import { NewConnections } from "./new-connections.ts";
import type { ConnectionSettings } from "./settings.ts";
import { performance } from "node:perf_hooks";

/** How a listener shares in the connections of the process. */
export type ListenerShare = Readonly<{
  /** Name in metrics. */
  name: string;
  /** Whether it leaves a quarter to other listeners, because anybody may connect to it. */
  leavesRoom?: boolean;
}>;

/** How the process stands for connections and descriptors. */
export type ConnectionState = Readonly<{
  /** Clients' connections, those of the operators' listener not counted, and how many there may be now. */
  open: number;
  most: number;
  /** File descriptors of the process; `used` is undefined where the system does not tell. */
  descriptors: Readonly<{ used: number | undefined; limit: number }>;
  /** Whether descriptors, not settings, are what bounds connections. */
  isBoundByDescriptors: boolean;
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

/** What the budget works with. */
export type ConnectionBudgetDependencies = Readonly<{
  descriptors: Descriptors;
  metrics: Registry;
  clock: () => number;
}>;

/** Time between two looks at what the process has open. */
const lookMs = 1_000;
/** Under a low limit the reserve is this part of it, so that clients have the rest. */
const reserveShare = 3 / 4;
/** Descriptors that stay free beside those in use for all else: a program that is run takes six for a moment. */
const spareDescriptors = 16;
/** Under a low limit they are at most this part of it. */
const spareShare = 1 / 8;
/** Most connections to the operators' listener: a Prometheus, probes, and a page or two in a browser, six each. */
const operatorsMost = 32;
/** Under a low limit they are this part of it, and a few at least. */
const operatorsShare = 1 / 8;
const operatorsLeast = 4;
/** What an address may at least make at once, in seconds' worth of its rate. */
const burstSeconds = 3;
/** Part of all that a listener for anybody may take where it leaves room. */
const anybodyShare = 3 / 4;

/** Creates the budget of a process's connections, and keeps it by looking at what else the process has open. */
export function createConnectionBudget(
  { connections, connectionsPerAddress, newConnectionsPerAddress, descriptorReserve }: ConnectionSettings,
  { descriptors, metrics: registry, clock }: ConnectionBudgetDependencies,
): ConnectionBudget {
  const { limit } = descriptors;
  const reserve = Math.min(descriptorReserve, Math.floor(limit * reserveShare));
  const spare = Math.min(spareDescriptors, Math.floor(limit * spareShare));
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
    const others = (state.used ?? 0) - clients;
    state.most = Math.max(1, limit - Math.max(reserve, others + spare));
    const surplus = open() - state.most;
    if (surplus > 0) shared.some((listener) => listener.shed(surplus));
  };
  look();
  const looks = setInterval(look, lookMs).unref();
  const most = () => Math.min(state.most, connections * shared.length);
  const metrics = connectionMetrics(registry, {
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
      isBoundByDescriptors: state.most < connections,
      fullForMs: state.fullAtMs === undefined ? undefined : clock() - state.fullAtMs,
    }),
    [Symbol.dispose]: () => clearInterval(looks),
  };
}

/** The connections that this process's listeners may hold, by the file descriptors that it may have open. */
export function processConnections(
  settings: ConnectionSettings,
  { metrics }: Readonly<{ metrics: Registry }>,
): ConnectionBudget {
  return createConnectionBudget(settings, {
    descriptors: ownDescriptors(),
    metrics,
    // That of the gateway's fast path, whose connections tell their own times.
    clock: () => performance.now(),
  });
}
