import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import { startFakeNode } from "#sidecar/gateway/testing/fake-node.ts";
import { freePorts } from "../../support/free-ports.ts";
import { until } from "../../support/until.ts";
import { startGatewayProcess } from "./surroundings.ts";
import { print, verdict } from "./table.ts";
import { memoryMiB } from "./wrk.ts";

const heads = 40;
const headGapMs = 500;
const connectedAtOnce = 100;
const waitMs = 60_000;
const subscribe = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}';

/**
 * Measures how long a head takes from the node to the last of so many WebSocket clients, and the gateway's memory for each. The
 * clients live in this process, so their own work is in the time.
 */
export async function webSocketClients(count: number): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const node = scope.use(await startFakeNode());
  const [port = 0] = await freePorts(1);
  const gateway = scope.use(await startGatewayProcess(port, node.httpUrl));
  const arrived = { messages: 0, at: 0 };
  const arrive = () => {
    arrived.messages += 1;
    arrived.at = performance.now();
  };
  const warm = await connectClients(gateway.url, connectedAtOnce, () => undefined);
  await delay(headGapMs);
  const before = memoryMiB(gateway.pid, "VmRSS");
  const sockets = await connectClients(gateway.url, count, arrive);
  await until("every client is subscribed", waitMs, () => arrived.messages === count);
  await until("the node has the subscription", waitMs, () => node.subscriptions() > 0);
  const eachKiB = ((memoryMiB(gateway.pid, "VmRSS") - before) * 1_024) / count;
  const times: number[] = [];
  for (let index = 1; index <= heads; index += 1) {
    arrived.messages = 0;
    const sentAt = performance.now();
    node.newHead(1_000 + index);
    await until("the head is with every client", waitMs, () => arrived.messages === count);
    times.push(arrived.at - sentAt);
    await delay(headGapMs);
  }
  for (const socket of [...warm, ...sockets]) socket.terminate();
  times.sort((a, b) => a - b);
  const p99 = times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;
  print(`${count} WebSocket clients on newHeads, ${heads} heads`, [
    verdict("from the node to the last client, p99 ms", p99, { most: 250 }),
    verdict("memory of the gateway for each client, KiB", eachKiB, { most: 30 }),
  ]);
}

/** Connects clients, some at a time, and subscribes them; `arrive` is called for every message. */
async function connectClients(url: string, count: number, arrive: () => void): Promise<readonly WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(connectedAtOnce, count - sockets.length) }, async () => {
      const socket = new WebSocket(url.replace("http", "ws"), { perMessageDeflate: false });
      await once(socket, "open");
      socket.on("message", arrive);
      socket.send(subscribe);
      return socket;
    });
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}
