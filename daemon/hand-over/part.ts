import type { SendHandle } from "node:child_process";
import { waitForAbort } from "../process/stop-signal.ts";
import { handOverVariable, type HandOverMessage, type ServiceMessage, type SettingsInForce } from "./messages.ts";
import { setSocketExchange, type SocketHandle } from "./socket-exchange.ts";

/** The part that a process of a service has in hand-overs. */
export type HandOverPart = Readonly<{
  /** Says that the settings are right, and waits for its turn to start; ends early when the signal aborts. */
  turn: (signal: AbortSignal) => Promise<void>;
  /** Called with the state of the settings file whenever it changes, the first time before the process's turn. */
  followSettings: (notify: (file: SettingsInForce) => void) => void;
  /** Registers the function that lets go of all that one process alone may hold, so that the next one can start. */
  release: (release: () => Promise<void>) => void;
  /** Registers the function that ends this process once the next one serves. */
  leave: (leave: () => void) => void;
}>;

/** Joins the hand-overs of a service; undefined if this process has no part in any. */
export function joinHandOvers(environment: NodeJS.ProcessEnv): HandOverPart | undefined {
  if (environment[handOverVariable] === undefined || process.send === undefined) return undefined;
  // What this process starts is no part of it.
  delete environment[handOverVariable];
  const given = new Map<string, SocketHandle[]>();
  let isHandedOver = false;
  const proceeding = Promise.withResolvers<void>();
  let notify: ((file: SettingsInForce) => void) | undefined;
  let release: (() => Promise<void>) | undefined;
  let leave: (() => void) | undefined;
  process.on("message", (message: HandOverMessage, handle: SocketHandle | undefined) => {
    switch (message.type) {
      case "socket":
        if (handle !== undefined) given.set(message.name, [...(given.get(message.name) ?? []), handle]);
        return;
      case "settings":
        notify?.(message.file);
        return;
      case "proceed":
        proceeding.resolve();
        return;
      case "serving":
        // Nobody takes a connection of what the new settings have no listener for.
        for (const unused of given.values()) for (const one of unused) one.close();
        given.clear();
        return;
      case "yield":
        isHandedOver = true;
        // What can't be let go ends the process, and with it goes all that it holds.
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
    turn: async (signal) => {
      // Until its turn comes there is nothing else that keeps the process alive.
      process.channel?.ref();
      sendToSupervisor({ type: "prepared" });
      await Promise.race([proceeding.promise, waitForAbort(signal)]);
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

/** Sends nothing when the parent is gone: that ends this process by another way. */
function sendToSupervisor(message: ServiceMessage, handle?: SocketHandle): void {
  if (process.connected) process.send?.(message, handle as unknown as SendHandle, {}, () => undefined);
}
