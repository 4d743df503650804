import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { watchTarget } from "#sidecar/overview/target-watch.ts";
import { rightStatus } from "#status/testing/sample-status.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** A listener for operators that answers so. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Reads what the overview shows of a target once it has looked. */
async function seen(answer: RequestListener) {
  const url = await serve(answer);
  await using watch = watchTarget(
    { name: "node-7", url, shownUrl: `${url}/` },
    { clock: systemClock, log: pino({ level: "silent" }) },
  );
  const { answers, state, cause } = await until("it has looked", generousMs, () => {
    const current = watch.current();
    return current.state !== "Not queried yet" && current;
  });
  return { answers, state, cause };
}

/** Answers with a status of so many bytes. */
function sayStatus(bytes: number): RequestListener {
  const text = JSON.stringify({ ...rightStatus, padding: "" });
  const body = text.replace('"padding":""', `"padding":"${"x".repeat(bytes - text.length)}"`);
  return (_, response) => response.end(body);
}

const unanswered = {
  answers: false,
  state: "No answer",
  cause: "It can't be queried (no answer within 4000 ms).",
};

test("the overview reads 1 MiB of a target's answer and no byte more", async () => {
  const mostBytes = 1_048_576;
  expect(await seen(sayStatus(mostBytes))).toMatchObject({ answers: true, state: "Healthy" });
  expect(await seen(sayStatus(mostBytes + 1))).toEqual({
    answers: false,
    state: "No answer",
    cause: "It can't be queried (body_too_large).",
  });
});

test("the overview waits four seconds for a target, and says so", async () => {
  const beganMs = performance.now();
  expect(await seen(() => undefined)).toEqual(unanswered);
  expect(performance.now() - beganMs).toBeGreaterThan(3_900);
});
