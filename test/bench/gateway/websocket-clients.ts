import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";
import { connectCounting } from "./counting-client.ts";
import { startGatewayProcess } from "./setup.ts";
import { print, type Figure } from "./table.ts";
import { readCpuMs, readMemoryMiB } from "./wrk.ts";

const heads = 200;
const headGapMs = 250;
const connectedAtOnce = 100;
const waitMs = 60_000;
const subscribe = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}';

/**
 * Measures how long a new head takes from the node to the last of this many WebSocket clients, and the gateway's memory per client. Node
 * and clients share this process, so the time includes the clients', which only count messages.
 */
export async function measureWebSocketClients(count: number): Promise<readonly Figure[]> {
  await using scope = new AsyncDisposableStack();
  const node = scope.use(await startFakeNode());
  const [port = 0] = await findFreePorts(1);
  const gateway = scope.use(await startGatewayProcess(port, node.httpUrl));
  const arrived = { messages: 0, at: 0 };
  const arrive = () => {
    arrived.messages += 1;
    arrived.at = performance.now();
  };
  const warm = await connectClients(gateway.url, connectedAtOnce, () => undefined);
  await delay(headGapMs);
  const memoryMiBBefore = readMemoryMiB(gateway.pid, "VmRSS");
  const sockets = await connectClients(gateway.url, count, arrive);
  await until("every client is subscribed", waitMs, () => arrived.messages === count);
  await until("the node has the subscription", waitMs, () => node.subscriptions() > 0);
  const eachKiB = ((readMemoryMiB(gateway.pid, "VmRSS") - memoryMiBBefore) * 1_024) / count;
  const times: number[] = [];
  const cpuBefore = readCpuMs(gateway.pid);
  for (let index = 1; index <= heads; index += 1) {
    arrived.messages = 0;
    const sentAt = performance.now();
    node.newHead(1_000 + index);
    await until("the head is with every client", waitMs, () => arrived.messages === count);
    times.push(arrived.at - sentAt);
    await delay(headGapMs);
  }
  const cpuMicros = ((readCpuMs(gateway.pid) - cpuBefore) * 1_000) / (heads * count);
  for (const socket of [...warm, ...sockets]) socket.destroy();
  times.sort((a, b) => a - b);
  const quantile = (share: number) => times[Math.ceil(times.length * share) - 1] ?? Number.NaN;
  const what = `${count} WebSocket clients on newHeads, ${heads} heads`;
  print(what, [
    {
      "CPU of the gateway, µs a message": Math.round(cpuMicros),
      "to the last client, p50 ms": Math.round(quantile(0.5)),
    },
  ]);
  return [
    { what: `${what}: from the node to the last client, p99 ms`, figure: quantile(0.99), target: { most: 250 } },
    { what: `${what}: KiB of the gateway for each client`, figure: eachKiB, target: { most: 30 } },
  ];
}

/** Connects clients, some at a time, and subscribes them; `arrive` is called for every message. */
async function connectClients(url: string, count: number, arrive: () => void): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Math.min(connectedAtOnce, count - sockets.length);
    const addresses = Array.from({ length: some }, (_, index) => formatLoopbackAddress(sockets.length + index));
    sockets.push(...(await Promise.all(addresses.map((address) => connectCounting(url, address, subscribe, arrive)))));
  }
  return sockets;
}

function formatLoopbackAddress(index: number): string {
  return `127.1.${index >> 8}.${index & 0xff}`;
}
