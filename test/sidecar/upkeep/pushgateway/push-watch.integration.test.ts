import { createServer } from "node:http";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { systemClock } from "#daemon/clock.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport } from "#status/condition.ts";
import { watchPushes } from "#sidecar/upkeep/pushgateway/push-watch.ts";
import { readUntil } from "#daemon/testing/until.ts";

const log = pino({ level: "silent" });

/** A Pushgateway's `/metrics` in the real one's format; undefined makes it hang. */
function pushgateway(metrics: () => string | undefined) {
  const server = createServer((_, response) => {
    const text = metrics();
    if (text !== undefined) response.end(text);
  });
  return listenLocally(server);
}

const identity = () => ({ job: 'node "7"', intervalSeconds: 0.05 });

function watch(url: string, staleAfterMs = 60_000) {
  const events = { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] };
  const clock = systemClock;
  const metrics = new Registry();
  const board = createConditionBoard({ log, metrics, clock, events });
  const stopController = new AbortController();
  const options = { url, timeoutMs: 1_000, responseLimitBytes: 100_000, staleAfterMs, signal: stopController.signal };
  // Keeps all reports, because on a busy machine another one may arrive before the expected one.
  const said: ConditionReport[] = [];
  const set = (report: ConditionReport) => {
    said.push(report);
    board.set(report);
  };
  const pushes = watchPushes(options, { identity, board: { ...board, set }, clock, send: sendRequest, log });
  const words = async (reason: string) => {
    const found = await readUntil(
      () => said.find((report) => report.reason === reason),
      (report) => report !== undefined,
    );
    return found?.message.replace(/127\.0\.0\.1:\d+/, "gateway");
  };
  const stop = async () => {
    stopController.abort();
    await pushes.done;
  };
  return { words, metrics, [Symbol.asyncDispose]: stop };
}

const line = (seconds: number) =>
  `# TYPE push_time_seconds gauge\npush_time_seconds{instance="",job="node \\"7\\""} ${seconds}\npush_time_seconds{instance="",job="other"} 1\n`;

test("reports metrics that arrive, are missing, or stop arriving", async () => {
  let text: string | undefined;
  await using gateway = await pushgateway(() => (text ??= line(Date.now() / 1_000)));
  await using pushes = watch(gateway.url, 2_000);
  expect(await pushes.words("Fresh")).toBe('Job "node "7"" was pushed 0 s ago.');
  expect(await pushes.words("Stale")).toMatch(/^The last push of job "node "7"" is \d+ s old/);
  text = "";
  expect(await pushes.words("Missing")).toContain("or its monitor_config has the keys of another version.");
});

const rejected = () =>
  `push_failure_time_seconds{instance="",job="node \\"7\\""} ${Date.now() / 1_000}\npush_time_seconds{instance="",job="node \\"7\\""} 0\n`;

test("does not mistake rejected pushes for missing ones, or a push time of 0 for a push", async () => {
  let isRejected = true;
  await using gateway = await pushgateway(() => (isRejected ? rejected() : line(0)));
  await using pushes = watch(gateway.url);
  expect(await pushes.words("PushesRejected")).toMatch(
    /^The Pushgateway rejected the last push of job "node "7"" \d s ago; none has succeeded yet\. See the Pushgateway's log\./,
  );
  isRejected = false;
  expect(await pushes.words("Missing")).toContain("the node has not pushed yet");
});

test("reports a Pushgateway outage as its own fault, not the node's", async () => {
  const gateway = await pushgateway(() => "");
  await gateway[Symbol.asyncDispose]();
  await using pushes = watch(gateway.url);
  expect(await pushes.words("PushgatewayUnreachable")).toBe(
    "http://gateway/metrics can't be queried (ECONNREFUSED); check that the Pushgateway is running.",
  );
});

test("reports a hung Pushgateway as False, not Unknown, so that the alert on 0 fires", async () => {
  await using gateway = await pushgateway(() => undefined);
  await using pushes = watch(gateway.url);
  expect(await pushes.words("PushgatewayUnreachable")).toContain("http://gateway/metrics can't be queried");
  expect(await pushes.metrics.metrics()).toContain('gatehouse_condition{type="MetricsArriving"} 0');
});

test("sends the credentials in the URL of a Pushgateway but never shows them", async () => {
  await using gateway = await pushgateway(() => line(Date.now() / 1_000));
  await using pushes = watch(gateway.url.replace("//", "//user:secret@"));
  expect(await pushes.words("Fresh")).not.toContain("secret");
});
