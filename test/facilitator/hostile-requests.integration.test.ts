import { once } from "node:events";
import { request as sendRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { readResidentMiB } from "../support/stack-processes.ts";
import { startFacilitator, type RunningFacilitator } from "../support/facilitator/running-facilitator.ts";

let folder: string;
let facilitator: RunningFacilitator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-hostile-"));
  facilitator = await startFacilitator({
    rpcUrl: "http://127.0.0.1:1",
    token: testAccount(3).address,
    ledgerPath: join(folder, "ledger.sqlite"),
    env: { GATEHOUSE_FACILITATOR_OPERATIONS_ALLOWED_HOSTS: "pay.internal" },
    constants: { "listen.bodyLimitBytes": 1_048_576 },
  });
});

afterAll(async () => {
  await facilitator?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Sends raw bytes, and returns the output until the connection is closed. */
async function exchange(pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(Number(new URL(facilitator.url).port), "127.0.0.1");
  let response = "";
  socket.on("data", (bytes: Buffer) => (response += bytes.toString("latin1")));
  const closed = once(socket, "close");
  await once(socket, "connect");
  for (const piece of pieces) if (!socket.write(piece)) await once(socket, "drain");
  await closed;
  return response;
}

const head = "POST /verify HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n";

/** CPU that the facilitator has used, in seconds. */
async function cpuSeconds(): Promise<number> {
  const metrics = await (await fetch(`${facilitator.operationsUrl}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
}

test("rejects bodies in one-byte chunks at the cost of a few thousand chunks", async () => {
  const bytes = Buffer.from("1\r\n[\r\n".repeat(10_000));
  const before = { cpu: await cpuSeconds(), memory: readResidentMiB(facilitator.process.pid) };
  const pieces = [`${head}Transfer-Encoding: chunked\r\n\r\n`, ...Array.from({ length: 20 }, () => bytes), "0\r\n\r\n"];
  const responses = await Promise.all(Array.from({ length: 4 }, () => exchange(pieces)));
  for (const response of responses) expect(response).toMatch(/^HTTP\/1\.1 400 .*send larger chunks/s);
  expect((await cpuSeconds()) - before.cpu).toBeLessThan(2);
  // V8's young generation alone grows by 30 to 60 MiB on a busy machine; the overhead per byte that this test guards against would add 370 MiB.
  expect(readResidentMiB(facilitator.process.pid) - before.memory).toBeLessThan(128);
});

test("reassembles a body from chunks of any size", async () => {
  const body = JSON.stringify({ x402Version: 3, paymentPayload: "ü".repeat(30_000), paymentRequirements: {} });
  const bytes = Buffer.from(body);
  const cuts = [1, 2, 5, 16_383, 16_384, 16_385, 40_000, bytes.length];
  const pieces = cuts.map((end, index) => {
    const part = bytes.subarray(index === 0 ? 0 : cuts[index - 1], end);
    return Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]);
  });
  const response = await exchange([`${head}Transfer-Encoding: chunked\r\n\r\n`, ...pieces, "0\r\n\r\n"]);
  expect(response).toMatch(/^HTTP\/1\.1 200 .*invalid_x402_version/s);
});

test.each([
  ["two Host headers", "GET /health HTTP/1.1\r\nHost: a\r\nhOST: b\r\nConnection: close\r\n\r\n", "400"],
  ["an absolute target", "GET http://b/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200"],
  [
    "an upgrade to HTTP/2",
    "GET /health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n",
    "200",
  ],
])("returns the status of RFC 9112 for %s", async (_name, request, status) => {
  expect(await exchange([request])).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

/** The status of a response to a page whose own name resolves to this machine. */
async function readStatus(host: string, url: string): Promise<number | undefined> {
  const sent = sendRequest(url, { headers: { Host: host } });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test("returns 403 on the admin port for other hosts, but not on the payment port", async () => {
  for (const path of ["/livez", "/readyz", "/metrics"]) {
    const { operationsUrl: url } = facilitator;
    expect([path, await readStatus("attacker.example", `${url}${path}`)]).toEqual([path, 403]);
    for (const host of ["localhost", "127.0.0.1:3000", "pay.internal"]) {
      expect([path, host, await readStatus(host, `${url}${path}`)]).not.toEqual([path, host, 403]);
    }
  }
  expect(await readStatus("attacker.example", `${facilitator.url}/supported`)).toBe(200);
});
