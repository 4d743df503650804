import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startGatewayProcess } from "./setup.ts";
import type { Figure } from "./table.ts";
import { readMemoryMiB } from "./wrk.ts";

const answerBytes = 1_048_576;
const clients = 64;
const warmWaves = 5;
const settleMs = 1_500;
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}';
const request = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/**
 * Measures the gateway's memory for 1 MB responses whose clients do not read, in a process that has served such clients
 * before.
 */
export async function measureStreamedResponses(): Promise<readonly Figure[]> {
  const text = `{"jsonrpc":"2.0","id":1,"result":"0x${"1".repeat(answerBytes)}"}`;
  const node = createServer((asked, response) => {
    asked.resume();
    asked.on("end", () => {
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": text.length });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const [port = 0] = await findFreePorts(1);
  const gateway = await startGatewayProcess(port, `http://127.0.0.1:${(node.address() as AddressInfo).port}`);
  try {
    for (let wave = 0; wave < warmWaves; wave += 1) await readAll(await openStalledClients(port));
    await delay(settleMs);
    const memoryMiBBefore = readMemoryMiB(gateway.pid, "VmRSS");
    const stalled = await openStalledClients(port);
    await delay(settleMs);
    const added = ((readMemoryMiB(gateway.pid, "VmRSS") - memoryMiBBefore) * 1_024) / clients;
    await readAll(stalled);
    const what = `${clients} responses of 1 MB in flight whose clients don't read: KiB added by each`;
    return [{ what, figure: added, target: { most: 256 } }];
  } finally {
    await gateway[Symbol.asyncDispose]();
    node.closeAllConnections();
    node.close();
  }
}

function openStalledClients(port: number): Promise<readonly Socket[]> {
  const one = async () => {
    const socket = connect({ port, host: "127.0.0.1" });
    await once(socket, "connect");
    socket.pause();
    socket.write(request);
    return socket;
  };
  return Promise.all(Array.from({ length: clients }, one));
}

async function readAll(sockets: readonly Socket[]): Promise<void> {
  await Promise.all(sockets.map(readOne));
}

function readOne(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    let received = 0;
    socket.on("data", (bytes: Buffer) => {
      received += bytes.length;
      if (received >= answerBytes) socket.destroy();
    });
    socket.on("close", () => resolve());
    socket.resume();
  });
}
