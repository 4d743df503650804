import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

/**
 * A node in its own process, fast and without its own chain: a block per second, immediate cheap reads, 2 MB of
 * receipts per block, and slow traces and log ranges, of which it handles only a few at a time, like real nodes.
 * Reports its port to its parent, and exits with it.
 */
type Call = Readonly<{ id: unknown; method: string; params?: readonly unknown[] }>;

const slowMs = 200;
/**
 * Calls run for as long as their gas limit allows, a limited number at a time, and delay all others: anvil took 3.2 s for 2^32 gas, and
 * with 48 such calls in flight an eth_getBalance took 6.3 s; with 48 calls of 50,000,000 gas, 0.08 s.
 */
const msOfGas = 7.4e-7;
const workers = 24;
const blockMs = 1_000;
/** geth's limit for a batch's responses: each call beyond it gets an error. */
const batchBytes = 25_000_000;
const receipts = Buffer.from(
  `[${Array.from({ length: 2_000 }, (_, at) => `{"logs":[],"gasUsed":"0x${at.toString(16)}","logsBloom":"0x${"0".repeat(940)}"}`).join(",")}]`,
);
const slow = /^(?:debug_trace|trace_|eth_getLogs)/;
let height = 1_000_000;

const formatHash = (number: number) => `0x${number.toString(16).padStart(64, "0")}`;
const block = (number: number) => ({
  number: `0x${number.toString(16)}`,
  hash: formatHash(number),
  parentHash: formatHash(number - 1),
  timestamp: `0x${(Math.floor(Date.now() / 1_000) - (height - number)).toString(16)}`,
});

const results: Readonly<Record<string, (params: readonly unknown[]) => string | Buffer>> = {
  eth_chainId: () => '"0x688"',
  net_version: () => '"1672"',
  eth_syncing: () => "false",
  eth_blockNumber: () => `"0x${height.toString(16)}"`,
  web3_clientVersion: () => '"busy/v0.16.2/test"',
  debug_protocolVersion: () => '{"binaryVersion":"0.16.2"}',
  eth_getBlockByNumber: ([which]) => {
    const number = which === "finalized" || which === "safe" ? height - 64 : Number(which);
    return JSON.stringify(block(Number.isNaN(number) ? height : number));
  },
  eth_getBlockReceipts: () => receipts,
  debug_traceTransaction: () => '{"type":"CALL","calls":[]}',
  debug_traceCall: () => '{"type":"CALL","calls":[]}',
  trace_filter: () => "[]",
  eth_getLogs: () => "[]",
};

/** A response in pieces, so that the long ones are not copied for each call. */
const answerCall = ({ id, method, params = [] }: Call): readonly Buffer[] => {
  const result = results[method]?.(params) ?? '"0x1234"';
  return [
    Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`),
    Buffer.isBuffer(result) ? result : Buffer.from(result),
    Buffer.from("}"),
  ];
};

function answerBatch(calls: readonly Call[]): readonly Buffer[] {
  const parts: Buffer[] = [Buffer.from("[")];
  let size = 0;
  for (const call of calls) {
    if (parts.length > 1) parts.push(Buffer.from(","));
    if (size > batchBytes) {
      const error = '"error":{"code":-32003,"message":"response too large"}';
      parts.push(Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},${error}}`));
      continue;
    }
    const own = answerCall(call);
    size += sumLengths(own);
    parts.push(...own);
  }
  return [...parts, Buffer.from("]")];
}

function sumLengths(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function answer(body: string, response: ServerResponse): void {
  const message = JSON.parse(body) as Call | readonly Call[];
  const calls = Array.isArray(message) ? (message as readonly Call[]) : [message as Call];
  const send = () => {
    const parts = Array.isArray(message) ? answerBatch(calls) : calls.flatMap(answerCall);
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": sumLengths(parts) });
    response.cork();
    for (const part of parts) response.write(part);
    response.end();
    response.uncork();
  };
  if (calls.some(({ method }) => slow.test(method))) setTimeout(send, slowMs);
  else runOnWorker(Math.max(...calls.map(({ params }) => readGas(params?.[0]))) * msOfGas, send);
}

const waiting: (() => void)[] = [];
let busyWorkers = 0;

/** Completes a call after a worker has been busy with it for this long. */
function runOnWorker(ms: number, end: () => void): void {
  const run = () => {
    if (ms === 0) return end();
    busyWorkers += 1;
    setTimeout(() => {
      end();
      busyWorkers -= 1;
      runWaiting();
    }, ms);
  };
  if (busyWorkers < workers) run();
  else waiting.push(run);
}

function runWaiting(): void {
  if (busyWorkers >= workers || waiting.length === 0) return;
  waiting.shift()?.();
  runWaiting();
}

function readGas(call: unknown): number {
  return typeof call === "object" && call !== null && "gas" in call ? Number(call.gas) : 0;
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => answer(Buffer.concat(parts).toString("utf8"), response));
  request.on("error", () => response.destroy());
});
const heads = new Map<string, (text: string) => void>();
let subscriptions = 0;
new WebSocketServer({ server }).on("connection", (socket) => {
  socket.on("error", () => socket.terminate());
  socket.on("message", (data: Buffer) => {
    const { id, method, params } = JSON.parse(data.toString()) as Call;
    subscriptions += 1;
    const name = `0x${subscriptions.toString(16)}`;
    const result = method === "eth_subscribe" ? `"${name}"` : "true";
    if (method === "eth_unsubscribe") heads.delete(String(params?.[0]));
    if (params?.[0] === "newHeads") heads.set(name, (text) => socket.send(text));
    socket.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
  });
});
setInterval(() => {
  height += 1;
  for (const [subscription, send] of heads) {
    send(
      JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: { subscription, result: block(height) } }),
    );
  }
}, blockMs);
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));
