import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { pino } from "pino";
import { Registry } from "prom-client";
import { WebSocketServer } from "ws";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { readWithConstants } from "#daemon/testing/read-with-constants.ts";
import { systemClock } from "#daemon/clock.ts";
import { startHealth } from "#health/health.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { sidecarSettings } from "../settings.ts";
import { createCharts } from "#status/charts.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import type { ConditionType } from "#status/condition.ts";

const log = pino({ level: "silent" });

/** Serves a node's HTTP on a free port, with responses supplied by the test. */
export async function serveNode(listener: RequestListener) {
  const server = createServer(listener);
  const sockets = new WebSocketServer({ noServer: true });
  const local = await listenLocally(server);
  const close = async () => {
    for (const client of sockets.clients) client.terminate();
    await local[Symbol.asyncDispose]();
  };
  return { url: local.url, server, sockets, [Symbol.asyncDispose]: close };
}

/** Responds to JSON-RPC from a table of results. Other methods get an error, or the response from `respondToOther`. */
export function respondToRpc(
  results: Readonly<Record<string, () => unknown>>,
  respondToOther?: (response: ServerResponse) => void,
): RequestListener {
  return (request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (body === "") return void response.writeHead(400).end();
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const result = results[method];
      if (result === undefined && respondToOther !== undefined) return respondToOther(response);
      const answer =
        result === undefined ? { error: { code: -32_601, message: "no such method" } } : { result: result() };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
  };
}

/** Watches a node with short intervals; `words` waits until a condition has a reason, and returns its message. */
export function watchNode(url: string, environment: Readonly<Record<string, string>> = {}) {
  const settings = readWithConstants(sidecarSettings, {
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: url,
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "20",
    GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "300",
    GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "300",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    ...environment,
  });
  const metrics = new Registry();
  const events = { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] };
  const board = createConditionBoard({ log, metrics, clock: systemClock, events });
  const health = startHealth(settings, {
    log,
    metrics,
    clock: systemClock,
    send: sendRequest,
    board,
    charts: createCharts(),
    eventLoop: { lateMs: () => 0, recentMs: () => 0, [Symbol.dispose]: () => undefined },
  });
  const words = async (type: ConditionType, reason: string) => {
    const condition = await readUntil(
      () => board.get(type),
      (found) => found?.reason === reason,
    );
    return condition?.message.replaceAll(/127\.0\.0\.1:\d+/g, "node");
  };
  return { board, metrics, words, current: health.current, [Symbol.asyncDispose]: () => health[Symbol.asyncDispose]() };
}

/** Responses that every node gives, except its height. */
export const goodResponses = {
  eth_chainId: () => "0x688",
  web3_clientVersion: () => "node/v0.16.2",
  eth_syncing: () => false,
};
/** A height that rises at each check. */
export const risingHeight = () => `0x${Math.floor(Date.now() / 10).toString(16)}`;
