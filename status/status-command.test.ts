import { createServer } from "node:http";
import { expect, test } from "vitest";
import { runStatusCommand, type StatusCommandOptions } from "./status-command.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const at = "2026-01-01T12:00:00.000Z";
const healthyStatus = {
  at,
  healthy: true,
  node: {
    name: "node-7",
    rpc: "http://127.0.0.1:18100",
    height: 300,
    latencyMs: 2.6,
    clientVersion: "node/v0.16.2",
    answers: true,
  },
  conditions: [{ title: "The RPC responds", status: "True", message: "It does.", since: "2026-01-01T11:00:00.000Z" }],
  headline: { state: "Healthy", cause: "All 1 checks pass." },
  verdict: { level: "healthy" },
  events: [{ at: "2026-01-01T11:30:00.000Z", message: "Pruning was turned on." }],
};
const down = {
  ...healthyStatus,
  healthy: false,
  node: { ...healthyStatus.node, answers: false, answeredAt: "2026-01-01T11:58:30.000Z" },
  conditions: [
    ...healthyStatus.conditions,
    { title: "The disk is full", status: "False", message: "Free some.", since: "2026-01-01T11:55:00.000Z" },
  ],
  headline: { state: "Node down", cause: "It serves no callers." },
  verdict: { level: "down" },
};

const startListener = (status: number, body: string) =>
  listenLocally(createServer((_, response) => response.writeHead(status).end(body)));

async function run(where: StatusCommandOptions["where"], json = false) {
  let [out, error] = ["", ""];
  const output = {
    out: (text: string) => void (out += text),
    error: (text: string) => void (error += text),
    isColored: false,
  };
  const code = await runStatusCommand({ where, json, everyMs: undefined }, output, new AbortController().signal);
  return { out, error, code };
}

async function shown(status: number, body: string, options: Readonly<{ json?: boolean }> = {}) {
  await using listener = await startListener(status, body);
  const { error, ...ended } = await run(listener.url, options.json);
  return { ...ended, error: error.replaceAll(listener.url, "URL") };
}

test("prints a short summary and exits with 0 for a healthy node", async () => {
  const { out, code } = await shown(200, JSON.stringify(healthyStatus));
  expect(code).toBe(0);
  expect(out).toBe(
    [
      "Healthy",
      "All 1 checks pass.",
      "",
      "node-7  http://127.0.0.1:18100  node/v0.16.2, block 300, responds in 3 ms",
      "",
      "1 of 1 conditions are healthy.",
      "",
      "Last events:",
      "  2026-01-01T11:30:00.000Z  Pruning was turned on.",
      "",
    ].join("\n"),
  );
});

test("exits with 2 for a fault, and shows its age by the sidecar's own clock", async () => {
  const { out, code } = await shown(200, JSON.stringify(down));
  expect(code).toBe(2);
  expect(out).toMatch(/^Node down\nIt serves no callers\.\n/);
  expect(out).toContain("last response 1 minute ago");
  expect(out).toContain("WRONG The disk is full, since 2026-01-01T11:55:00.000Z (5 minutes ago)\n      Free some.");
});

test("prints the listener's response with --json", async () => {
  const { out, code } = await shown(200, JSON.stringify(down), { json: true });
  expect([JSON.parse(out), code]).toEqual([down, 2]);
});

test.each([
  [404, "Not found", "URL/status returned HTTP 404; specify the status listener"],
  [200, "<html>", "URL/status can't be queried (its response is not JSON); specify the status listener"],
  [200, "{}", "URL/status returned something other than a status; specify the status listener"],
])("exits with 1 for a response that is not a status and explains what to do: %s %s", async (status, body, words) => {
  const { out, error, code } = await shown(status, body);
  expect([out, error, code]).toEqual(["", expect.stringContaining(words), 1]);
});

const findTarget = (name: string, url: string) => ({ name, url, shownUrl: `${url}/` });

test("shows several nodes one below the other; exits with 2 if any is unhealthy, 0 if all are healthy", async () => {
  await using first = await startListener(200, JSON.stringify(healthyStatus));
  await using second = await startListener(200, JSON.stringify(down));
  const targets = [findTarget("node-7", first.url), findTarget("node-8", second.url)];
  const { out, error, code } = await run(targets);
  expect([error, code]).toEqual(["", 2]);
  expect(out).toContain(`node-7  ${first.url}/\nHealthy\n`);
  expect(out).toContain(`conditions are healthy.\n\nnode-8  ${second.url}/\nNode down\n`);
  expect((await run(targets.slice(0, 1))).code).toBe(0);
  const listed = await run(targets, true);
  expect([JSON.parse(listed.out), listed.code]).toEqual([
    [
      { name: "node-7", url: `${first.url}/`, status: healthyStatus },
      { name: "node-8", url: `${second.url}/`, status: down },
    ],
    2,
  ]);
});

test("exits with 1 and reports the node that returns no status; shows the others", async () => {
  await using first = await startListener(200, JSON.stringify(down));
  await using second = await startListener(404, "Not found");
  const targets = [findTarget("node-8", second.url), findTarget("node-7", first.url)];
  const { out, error, code } = await run(targets);
  const words = `${second.url}/status returned HTTP 404; specify the status listener of the sidecar or gateway with --targets`;
  expect([error, code]).toEqual([expect.stringContaining(`status: node-8: ${words}`), 1]);
  expect(out).toContain("Node down\n");
  const listed = await run(targets, true);
  expect([JSON.parse(listed.out), listed.error, listed.code]).toEqual([
    [
      { name: "node-8", url: `${second.url}/`, message: expect.stringContaining(words) },
      { name: "node-7", url: `${first.url}/`, status: down },
    ],
    error,
    1,
  ]);
});

test("shows no URL credentials in any message", async () => {
  await using listener = await startListener(404, "Not found");
  const { error } = await run(listener.url.replace("//", "//reader:word@"));
  expect(error).toContain(`status: ${listener.url}/status returned HTTP 404`);
});

test("prevents a node's output from controlling the terminal", async () => {
  const steering = "\u001b[2Jx\u009b5m\r\n\u202ev1";
  const node = { ...down.node, clientVersion: steering };
  const [first, second] = down.conditions;
  const conditions = [first, { ...second, title: steering, message: steering }];
  const headline = { state: steering, cause: steering };
  const events = [{ at, message: steering }];
  const { out } = await shown(200, JSON.stringify({ ...down, node, conditions, headline, events }));
  expect(out).toContain("v1");
  for (const character of ["\u001b", "\u009b", "\r", "\u202e"]) expect(out).not.toContain(character);
});
