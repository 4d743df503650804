import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { tokenAddress } from "#devnet/token/address.ts";
import { signPayment } from "../../support/facilitator/signed-payment.ts";
import { createClientFetch } from "../../support/payments/paying.ts";
import { signPaymentHeader } from "../../support/payments/signed-payment.ts";
import { startLoad } from "../live/load.ts";
import { repeatAct } from "../live/repeat-act.ts";
import type { WatchedStack } from "../live/watched-stack.ts";

/** Length of the scene, in seconds. */
export const sceneSeconds = 240;
const secondMs = 1_000;
const subscribers = 4;

/**
 * Runs what a stack experiences within some minutes: reads at a rising and falling rate, subscribers, sales, unpaid and
 * badly paid requests, a caller that is too fast, a node that fails some reads, and an edit that breaks `node.conf`, so
 * that the sidecar repairs it and restarts the node. Resolves with the time of its end, in Unix seconds.
 */
export async function runScene(stack: WatchedStack): Promise<number> {
  await using playing = new AsyncDisposableStack();
  playing.use(startLoad({ url: stack.internalUrl, callsPerSecond: 25 }));
  playing.use(repeatAct(0, (round) => sendReads(stack.gatewayUrl, round)));
  playing.use(repeatAct(1_500, () => buy(stack)));
  playing.use(repeatAct(6_000, () => sendExpiredPayment(stack)));
  playing.use(repeatAct(4_000, () => askFacilitator(stack)));
  const acts: readonly (readonly [atSecond: number, act: () => Promise<unknown>])[] = [
    [20, async () => openSubscribers(playing, stack)],
    [55, () => sendTooManyCalls(stack, 10)],
    [95, () => writeWrongConfiguration(stack)],
    [145, () => failReads(stack, 20)],
    [190, () => sendTooManyCalls(stack, 15)],
  ];
  const startedAt = performance.now();
  for (const [atSecond, act] of acts) {
    await sleep(Math.max(0, startedAt + atSecond * secondMs - performance.now()));
    await act();
  }
  await sleep(Math.max(0, startedAt + sceneSeconds * secondMs - performance.now()));
  return Math.floor(Date.now() / secondMs);
}

const methods = [
  ["eth_blockNumber", []],
  ["eth_chainId", []],
  ["eth_getBlockByNumber", ["latest", false]],
  ["eth_gasPrice", []],
  ["eth_call", [{ to: tokenAddress, data: "0x18160ddd" }, "latest"]],
  ["eth_getLogs", [{ fromBlock: "latest", toBlock: "latest" }]],
] as const;

/** Sends the next one to four methods in a message, with alternately longer and shorter pauses. */
async function sendReads(url: string, round: number): Promise<void> {
  const calls = Array.from({ length: round % 5 === 0 ? 4 : 1 }, (_, place) => {
    const [method, params] = methods[(round + place) % methods.length] ?? methods[0];
    return { jsonrpc: "2.0", id: place, method, params };
  });
  await post(url, JSON.stringify(calls.length === 1 ? calls[0] : calls));
  await sleep(90 + 60 * Math.sin(round / 60));
}

/** Posts a body and ignores the response, which the metrics show. */
async function post(url: string, body: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const signal = AbortSignal.timeout(20 * secondMs);
  await fetch(url, { method: "POST", headers, body, signal }).then(
    (answer) => answer.arrayBuffer(),
    () => undefined,
  );
}

const formatShopUrl = ({ shopUrl }: WatchedStack) => `${shopUrl}/data`;
const payAndFetch = createClientFetch();

async function buy(stack: WatchedStack): Promise<void> {
  await payAndFetch(formatShopUrl(stack)).then(
    (answer) => answer.arrayBuffer(),
    () => undefined,
  );
}

/** Pays with an expired authorization, which is rejected. */
async function sendExpiredPayment(stack: WatchedStack): Promise<void> {
  const unpaid = await fetch(formatShopUrl(stack));
  await unpaid.arrayBuffer();
  const [offer] = decodePaymentRequiredHeader(unpaid.headers.get("PAYMENT-REQUIRED") ?? "").accepts;
  if (offer === undefined) throw new Error("nothing is offered");
  const header = await signPaymentHeader(offer, { validBefore: 1n });
  await (await fetch(formatShopUrl(stack), { headers: { "PAYMENT-SIGNATURE": header } })).arrayBuffer();
}

/** Makes the facilitator check an insufficient payment, like a seller with a stale price. */
async function askFacilitator({ facilitatorUrl }: WatchedStack): Promise<void> {
  const payment = await signPayment(tokenAddress, { authorization: { value: "1" } });
  await post(`${facilitatorUrl}/verify`, JSON.stringify(payment));
}

function openSubscribers(playing: AsyncDisposableStack, { gatewayUrl }: WatchedStack): void {
  for (let opened = 0; opened < subscribers; opened += 1) {
    const socket = new WebSocket(gatewayUrl.replace("http:", "ws:"));
    const subscribe = { jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] };
    socket.addEventListener("open", () => socket.send(JSON.stringify(subscribe)));
    playing.defer(() => socket.close());
  }
}

/** Sends more calls than the public tier allows. */
async function sendTooManyCalls({ gatewayUrl }: WatchedStack, seconds: number): Promise<void> {
  await using _ = startLoad({ url: gatewayUrl, callsPerSecond: 600, method: "eth_chainId" });
  await sleep(seconds * secondMs);
}

/** Responds to one in thirty balance reads with status 500, and delays each. */
async function failReads({ rpc }: WatchedStack, seconds: number): Promise<void> {
  using _ = rpc.trouble({ failEvery: 30, delayMs: 60 });
  await sleep(seconds * secondMs);
}

async function writeWrongConfiguration({ binDirectory }: WatchedStack): Promise<void> {
  const path = join(binDirectory, "node.conf");
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace("storage_enable_cetina", "enable_pamir_cetina"));
}
