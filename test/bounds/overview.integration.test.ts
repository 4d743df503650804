import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { isLong } from "../support/run-size.ts";
import { startExampleService, type Acceleration } from "./example-service.ts";

const responseBytesMax = 1_048_576;

/** Number of services with large responses; a long run uses an overview's max number. */
const largeCount = isLong ? 64 : 12;

/** Makes the overview check once per second. */
const quick = { waits: 5 };

type Shown = Readonly<{
  name: string;
  state: string;
  cause: string;
  answers: boolean;
  figures: object;
}>;

let fleet: Server;
let answer: RequestListener = (_, response) => response.end();
let port = 0;

beforeAll(async () => {
  fleet = createServer((request, response) => answer(request, response)).listen(0, "0.0.0.0");
  await once(fleet, "listening");
  port = (fleet.address() as AddressInfo).port;
});
afterAll(() => {
  fleet.closeAllConnections();
  fleet.close();
});

const targets = (count: number) =>
  Array.from({ length: count }, (_, index) => `node-${index + 1}=http://127.0.0.${index + 1}:${port}`);
const addressOf = ({ socket }: IncomingMessage) => socket.localAddress ?? "";

async function readPlace(child: ChildProcess): Promise<Readonly<{ overview: string }>> {
  let output = "";
  child.stdout?.on("data", (text: Buffer) => (output += String(text)));
  const overview = await until("it reports its URL", generousMs, () => /http:\S+/.exec(output)?.[0]);
  return { overview };
}

async function startSmallOverview(options: Readonly<{ count?: number; accelerated?: Acceleration }> = {}) {
  const { count = 64, ...more } = options;
  const args = ["--page", "0", "--targets", ...targets(count)];
  const service = await startExampleService("status", {}, { args, reports: readPlace, ...more });
  const shown = async () => {
    const reportedResponse = await (await fetch(`${service.urls["overview"]}overview`)).json();
    return (reportedResponse as Readonly<{ targets: readonly Shown[] }>).targets;
  };
  return {
    ...service,
    shown,
    all: (what: string, is: (target: Shown) => boolean) =>
      until(what, generousMs, async () => (await shown()).every(is) && shown()),
    expectServing: async () => {
      expect((await fetch(service.urls["overview"] ?? "")).status).toBe(200);
      service.expectWell();
    },
  };
}

const at = "2026-01-01T12:00:00.000Z";
const figures = { lastBlock: { height: 1_234_567, at, old: false } };
const reportCause = (cause: string) =>
  JSON.stringify({ at, verdict: { level: "healthy" }, headline: { state: "Node down", cause }, figures });

function sayStatus(bytes: number): RequestListener {
  const body = reportCause("x".repeat(bytes - reportCause("").length));
  return (_, response) => void response.end(body);
}

it("limits the response size of an overview target", async () => {
  answer = sayStatus(responseBytesMax);
  await using overview = await startSmallOverview({ count: largeCount, accelerated: quick });
  await overview.all("all are read", ({ state }) => state === "Node down");
  answer = sayStatus(responseBytesMax + 1);
  const rejected = await overview.all("none is read", ({ answers: responses }) => !responses);
  expect(new Set(rejected.map(({ cause }) => cause))).toEqual(new Set(["It can't be queried (body_too_large)."]));
  answer = (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, " ")));
    };
    response.on("drain", more);
    more();
  };
  await overview.expectServing();
  answer = sayStatus(4_096);
  await overview.all("all are read again", ({ answers: responses }) => responses);
  await overview.expectServing();
});

it("limits the time of the overview's check of a target", async () => {
  const waiting = new Map<string, number>();
  let most = 0;
  const silent: RequestListener = (request, response) => {
    const address = addressOf(request);
    const now = (waiting.get(address) ?? 0) + 1;
    waiting.set(address, now);
    most = Math.max(most, now);
    response.on("close", () => waiting.set(address, (waiting.get(address) ?? 1) - 1));
  };
  answer = sayStatus(4_096);
  await using overview = await startSmallOverview({ accelerated: quick });
  await overview.all("all were checked", ({ answers: responses }) => responses);
  // Now all services but one hang.
  answer = (request, response) =>
    addressOf(request) === "127.0.0.64" ? sayStatus(4_096)(request, response) : silent(request, response);
  const old = await overview.all(
    "they have timed out",
    ({ name, answers: responses }) => !responses || name === "node-64",
  );
  expect(old[0]).toMatchObject({ state: "Not responding", cause: "It can't be queried (no response within 4000 ms)." });
  expect(old[0]?.figures).toMatchObject({ lastBlock: { height: 1_234_567 } });
  expect(old[63]).toMatchObject({ answers: true });
  expect(most).toBe(1);
  await overview.expectServing();
});
