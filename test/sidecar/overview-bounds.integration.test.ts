import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { watchTarget } from "#sidecar/overview/target-watch.ts";
import { rightStatus } from "#status/testing/told-status.ts";
import { generousMs, until } from "../support/until.ts";

/** A listener for operators that answers `/status` so; nothing for a target that is silent. */
async function serve(body: string | undefined): Promise<string> {
  const server = createServer((_, response) => (body === undefined ? undefined : response.end(body)));
  server.listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What the overview shows of a target once it has looked. */
async function seen(body: string | undefined) {
  const url = await serve(body);
  await using watch = watchTarget(
    { name: "node-7", url, shownUrl: `${url}/` },
    { clock: systemClock, log: pino({ level: "silent" }) },
  );
  const { answers, state, cause } = await until("it has looked", generousMs, () => {
    const current = watch.current();
    return current.state !== "Not asked yet" && current;
  });
  return { answers, state, cause };
}

/** A status of so many bytes. */
function statusOf(bytes: number): string {
  const text = JSON.stringify({ ...rightStatus, padding: "" });
  return text.replace('"padding":""', `"padding":"${"x".repeat(bytes - text.length)}"`);
}

test("the overview reads 4 MiB of a target's answer and no byte more", async () => {
  const mostBytes = 4 * 1_024 * 1_024;
  expect(await seen(statusOf(mostBytes))).toMatchObject({ answers: true, state: "Healthy" });
  expect(await seen(statusOf(mostBytes + 1))).toEqual({
    answers: false,
    state: "No answer",
    cause: "It can't be asked (body_too_large).",
  });
});

test("the overview waits four seconds for a target, and says so", async () => {
  const beganMs = performance.now();
  expect(await seen(undefined)).toEqual({
    answers: false,
    state: "No answer",
    cause: "It can't be asked (no answer within 4000 ms).",
  });
  expect(performance.now() - beganMs).toBeGreaterThan(3_900);
});
