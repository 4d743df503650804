import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { findFamily } from "#node/families.ts";
import { parseNodeVersion } from "#node/versions.ts";
import type { ConditionReport } from "#status/condition.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { watchReleases } from "./release-watch.ts";

const height = 20_000;
const day = 86_400;

/** A node that produces a block per second, and returns its blocks' times or does not respond. */
async function startNode() {
  const node = { answers: true, url: "" };
  const server = createServer(async (request, response) => {
    if (!node.answers) return void request.socket.destroy();
    const text = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
    const { id, params } = JSON.parse(text) as { id: unknown; params: readonly [string] };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { timestamp: params[0] } }));
  });
  const local = await listenLocally(server);
  onTestFinished(local[Symbol.asyncDispose]);
  node.url = local.url;
  return node;
}

/** `moreChecks` resolves after this many more complete checks. */
async function watch(httpUrl: string) {
  const directory = await makeTestDirectory();
  const releasesPath = join(directory, "releases.json5");
  await writeFile(releasesPath, `[{ version: "0.17.0", minVersionAt: ${height + 30 * day} }]`);
  const seen = { reports: [] as ConditionReport[], nowMs: 0 };
  const set = (report: ConditionReport) => void seen.reports.push(report);
  const settings = {
    upgrade: { releasesPath, warnBeforeSeconds: 7 * day },
    node: { httpUrl },
    health: { intervalMs: 5 },
  } as Parameters<typeof watchReleases>[0];
  const releaseWatch = await watchReleases(settings, {
    program: () => ({ version: parseNodeVersion("0.16.2") }),
    places: () => ({ family: findFamily("generic"), binDirectory: directory }),
    stateDirectory: directory,
    health: { current: () => ({ height }) },
    files: createActiveFiles(new Registry()),
    board: { set, get: () => undefined, list: () => [] },
    clock: { wallMs: () => 0, monotonicMs: () => seen.nowMs },
    log: pino({ level: "silent" }),
  });
  onTestFinished(() => releaseWatch[Symbol.asyncDispose]());
  const waitForReport = async () => {
    // The current check may have started earlier.
    const after = seen.reports.length + 2;
    await readUntil(
      async () => seen.reports.length,
      (count) => count >= after,
    );
    return seen.reports.at(-1);
  };
  return { seen, waitForReport };
}

test("keeps the last block rate while a node is unresponsive, so it warns of nothing too early", async () => {
  const node = await startNode();
  const { seen, waitForReport } = await watch(node.url);
  expect(await waitForReport()).toMatchObject({ status: "True", reason: "Supported" });
  node.answers = false;
  seen.nowMs += 11 * 60_000;
  expect(await waitForReport()).toMatchObject({ status: "True", reason: "Supported" });
});

test("reports Unknown until the node returns its first block times", async () => {
  const node = await startNode();
  node.answers = false;
  const { seen, waitForReport } = await watch(node.url);
  expect(await waitForReport()).toMatchObject({ status: "Unknown", reason: "NotCompared" });
  node.answers = true;
  seen.nowMs += 31_000;
  expect(await waitForReport()).toMatchObject({ status: "True", reason: "Supported" });
});
