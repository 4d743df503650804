import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { startWatchedVolume } from "#sidecar/testing/watched-volume.ts";
import { metricsByPart } from "../../observability/metric-catalogue.ts";
import { createKubernetesApi } from "#sidecar/upkeep/drivers/kubernetes-api.ts";

const limits = { growBelowFreeRatio: 0.15, stepGibibytes: 100, ceilingGibibytes: 650, pauseMs: 1_000 };

/**
 * An API server with one claim; it rejects every request that the node's role does not allow, and every smaller size.
 */
async function clusterOf(claim: { requested: string; capacity: string; expandable: boolean }) {
  const directory = await makeTestDirectory();
  await writeFile(join(directory, "token"), "the-token\n");
  await writeFile(join(directory, "namespace"), "chain");
  const patches: string[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const reject = (status: number, message: string) =>
      response.writeHead(status).end(JSON.stringify({ kind: "Status", message }));
    const isAllowed =
      request.headers.authorization === "Bearer the-token" &&
      request.url === "/api/v1/namespaces/chain/persistentvolumeclaims/node-workspace" &&
      (request.method === "GET" || request.method === "PATCH");
    if (!isAllowed) return void reject(403, `${request.method} ${request.url} is forbidden`);
    if (request.method === "PATCH") {
      if (request.headers["content-type"] !== "application/merge-patch+json") return void reject(415, "no merge patch");
      const body = JSON.parse(text) as { spec: { resources: { requests: { storage: string } } } };
      const { storage } = body.spec.resources.requests;
      expect(Object.keys(body)).toEqual(["spec"]);
      if (Number.parseInt(storage, 10) < Number.parseInt(claim.requested, 10)) return void reject(422, "can't shrink");
      if (!claim.expandable) return void reject(403, "the storageclass must support resize");
      patches.push(storage);
      claim.requested = storage;
    }
    const spec = { resources: { requests: { storage: claim.requested } } };
    return void response.end(JSON.stringify({ spec, status: { capacity: { storage: claim.capacity } } }));
  });
  const local = await listenLocally(server);
  const api = createKubernetesApi({ apiUrl: local.url, serviceAccountDirectory: directory, timeoutMs: 2_000 });
  const close = async () => {
    await api[Symbol.asyncDispose]();
    await local[Symbol.asyncDispose]();
  };
  return { api, patches, claim, [Symbol.asyncDispose]: close };
}

test("grows a volume that is filling up, in steps with pauses between them, to its max size", async () => {
  await using cluster = await clusterOf({ requested: "500Gi", capacity: "500Gi", expandable: true });
  const disk = { freeRatio: 0.5 };
  await using watchedVolume = startWatchedVolume(limits, { api: cluster.api, disk, claim: "node-workspace" });
  await watchedVolume.until("Sufficient");
  expect(cluster.patches).toEqual([]);
  disk.freeRatio = 0.1;
  await watchedVolume.until("Growing");
  expect(cluster.patches).toEqual(["600Gi"]);
  const scrapedMetrics = await watchedVolume.metrics.metrics();
  expect(scrapedMetrics).toMatch(/^gatehouse_volume_requested_bytes \d+$[^]*^gatehouse_volume_growths_total 1$/m);
  for (const [name, { type, help }] of Object.entries(metricsByPart.volume)) {
    expect(scrapedMetrics).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
  }
  cluster.claim.capacity = "600Gi";
  await watchedVolume.untilMessage(
    /It can be expanded again from \d{4}-\d\d-\d\dT[\d:.]+Z: some providers allow one resize in six hours\./,
  );
  expect(watchedVolume.condition()).toMatchObject({ status: "True", reason: "Growing" });
  expect(cluster.patches).toEqual(["600Gi"]);
  watchedVolume.time.ms += limits.pauseMs;
  await expect.poll(() => cluster.patches).toEqual(["600Gi", "650Gi"]);
  cluster.claim.capacity = "650Gi";
  await watchedVolume.until("AtMaxSize");
  expect(watchedVolume.condition()).toMatchObject({
    status: "False",
    message: expect.stringContaining("at its maximum of 650 GiB"),
  });
  expect(cluster.patches).toEqual(["600Gi", "650Gi"]);
  expect(watchedVolume.reported).toContain("volume: Expanding the volume to 600 GiB; 10 % of it was free.");
});

test("reports a storage class that does not allow growth and what to change, and grows the volume once it does", async () => {
  await using cluster = await clusterOf({ requested: "500Gi", capacity: "500Gi", expandable: false });
  await using watchedVolume = startWatchedVolume(limits, {
    api: cluster.api,
    disk: { freeRatio: 0.1 },
    claim: "node-workspace",
  });
  await watchedVolume.until("ResizeFailed");
  expect(watchedVolume.condition()?.message).toBe(
    "The claim node-workspace could not be expanded to 600 GiB: 403: the storageclass must support resize; grant patch on it, and set allowVolumeExpansion: true in its storage class. 50.0 GiB (10 %) are free at /data.",
  );
  cluster.claim.expandable = true;
  await watchedVolume.until("Growing");
  expect(cluster.patches).toEqual(["600Gi"]);
});

test("can't grow a different claim for lack of permission", async () => {
  await using cluster = await clusterOf({ requested: "500Gi", capacity: "500Gi", expandable: true });
  await using watchedVolume = startWatchedVolume(limits, {
    api: cluster.api,
    disk: { freeRatio: 0.1 },
    claim: "ledger",
  });
  await watchedVolume.until("ResizeFailed");
  expect(watchedVolume.condition()?.message).toContain("persistentvolumeclaims/ledger is forbidden");
});

test("reports a nearly full disk and the action taken", async () => {
  await using cluster = await clusterOf({ requested: "650Gi", capacity: "650Gi", expandable: true });
  const disk = { freeRatio: 0.04 };
  await using watchedVolume = startWatchedVolume(limits, { api: cluster.api, disk, claim: "node-workspace" });
  await watchedVolume.untilMessage(
    /^20\.0 GiB \(4 %\) are free at \/data\..* The volume is at its maximum of 650 GiB; raise/,
  );
  expect(watchedVolume.condition()).toMatchObject({ status: "False", reason: "Low" });
});

test("reports Unknown if the volume can't be read or its check fails", async () => {
  await using cluster = await clusterOf({ requested: "500Gi", capacity: "500Gi", expandable: true });
  const disk: { freeRatio: number | string } = { freeRatio: 0.5 };
  await using watchedVolume = startWatchedVolume(limits, { api: cluster.api, disk, claim: "node-workspace" });
  await watchedVolume.until("Sufficient");
  disk.freeRatio = "checking it has hung: the file system does not respond";
  await watchedVolume.until("ReadFailed");
  expect(watchedVolume.condition()).toMatchObject({ status: "Unknown", message: `${disk.freeRatio}.` });
  disk.freeRatio = 0.1;
  watchedVolume.fails.why = new Error("the state can't be written");
  await watchedVolume.until("CheckFailed");
  expect(watchedVolume.condition()).toMatchObject({ status: "Unknown" });
  expect(watchedVolume.condition()?.message).toContain(
    "The check of the node's volume failed: the state can't be written. ",
  );
  expect(cluster.patches).toEqual([]);
});
