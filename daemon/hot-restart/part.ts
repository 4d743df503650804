import type { SendHandle } from "node:child_process";
import { waitForAbort } from "../process/stop-signal.ts";
import { hotRestartVariable, type HotRestartMessage, type ServiceMessage, type ActiveSettings } from "./messages.ts";
import { setSocketExchange, type SocketHandle } from "./socket-exchange.ts";

export type HotRestart = Readonly<{
  /** Reports that the settings are valid, and waits for permission to start; resolves early when the signal aborts. */
  waitForTurn: (signal: AbortSignal) => Promise<void>;
  /** Registers the callback for changes in the settings file's state; its first call precedes the start of the process. */
  followSettings: (notify: (file: ActiveSettings) => void) => void;
  /** Registers the function that releases all exclusive resources, so that the next process can start. */
  release: (release: () => Promise<void>) => void;
  /** Registers the function that shuts this process down once the next process is serving. */
  leave: (leave: () => void) => void;
}>;

/** Makes this process take part in its service's hot restarts; returns undefined if it has no supervisor. */
export function registerForHotRestart(environment: NodeJS.ProcessEnv): HotRestart | undefined {
  if (environment[hotRestartVariable] === undefined || process.send === undefined) return undefined;
  // Children of this process don't take part in hot restarts.
  delete environment[hotRestartVariable];
  const given = new Map<string, SocketHandle[]>();
  let isHandedOver = false;
  const proceedSignal = Promise.withResolvers<void>();
  let notify: ((file: ActiveSettings) => void) | undefined;
  let release: (() => Promise<void>) | undefined;
  let leave: (() => void) | undefined;
  process.on("message", (message: HotRestartMessage, handle: SocketHandle | undefined) => {
    switch (message.type) {
      case "socket":
        if (handle !== undefined) given.set(message.name, [...(given.get(message.name) ?? []), handle]);
        return;
      case "settings":
        notify?.(message.file);
        return;
      case "proceed":
        proceedSignal.resolve();
        return;
      case "serving":
        // Closes sockets for which the new settings have no listener: otherwise they would queue connections that are never accepted.
        for (const unusedSockets of given.values()) for (const one of unusedSockets) one.close();
        given.clear();
        return;
      case "yield":
        isHandedOver = true;
        // If the release fails, the process exits, which releases everything.
        void Promise.resolve(release?.()).then(() => sendToSupervisor({ type: "yielded" }));
        return;
      case "leave":
        leave?.();
    }
  });
  setSocketExchange({
    acquire: (name) => {
      const found = given.get(name) ?? [];
      given.delete(name);
      if (found.length > 0) sendToSupervisor({ type: "uses", name });
      return found;
    },
    offer: (name, handle) => sendToSupervisor({ type: "socket", name }, handle),
    isHandedOver: () => isHandedOver,
  });
  return {
    waitForTurn: async (signal) => {
      // Until the process may proceed, nothing else keeps it alive.
      process.channel?.ref();
      sendToSupervisor({ type: "prepared" });
      await Promise.race([proceedSignal.promise, waitForAbort(signal)]);
      process.channel?.unref();
    },
    followSettings: (follow) => {
      notify = follow;
    },
    release: (how) => {
      release = how;
    },
    leave: (how) => {
      leave = how;
    },
  };
}

/** Sends nothing if the parent has exited, which shuts this process down anyway. */
function sendToSupervisor(message: ServiceMessage, handle?: SocketHandle): void {
  if (process.connected) process.send?.(message, handle as unknown as SendHandle, {}, () => undefined);
}
