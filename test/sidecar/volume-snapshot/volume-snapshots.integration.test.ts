import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { volumeSnapshotSettings } from "#sidecar/volume-snapshot/settings.ts";
import { runVolumeSnapshotCommand } from "#sidecar/volume-snapshot/volume-snapshot-command.ts";
import { replaceConstants } from "../../support/constant-overrides.ts";

type Snapshot = { name: string; creationTimestamp: string; claim: string };

/** An API server with VolumeSnapshots; it rejects every request that the job's role does not allow. */
async function clusterOf(snapshots: Snapshot[], { serves = true } = {}) {
  const directory = await makeTestDirectory();
  await writeFile(join(directory, "token"), "the-token\n");
  await writeFile(join(directory, "namespace"), "chain");
  const base = "/apis/snapshot.storage.k8s.io/v1/namespaces/chain/volumesnapshots";
  const bodies: unknown[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    const reply = (status: number, body: unknown) => void response.writeHead(status).end(JSON.stringify(body));
    if (request.headers.authorization !== "Bearer the-token") return reply(401, { message: "Unauthorized" });
    if (!serves) return reply(404, { message: "the server could not find the requested resource" });
    if (request.method === "POST" && pathname === base) {
      expect(request.headers["content-type"]).toBe("application/json");
      const body = JSON.parse(text) as { metadata: { name: string; labels: Record<string, string> } };
      bodies.push(body);
      const claim = body.metadata.labels["gatehouse.io/claim"] ?? "";
      snapshots.push({ name: body.metadata.name, creationTimestamp: "2026-11-21T03:00:00Z", claim });
      return reply(201, body);
    }
    if (request.method === "GET" && pathname === base) {
      const claim = /^gatehouse\.io\/claim=(.+)$/.exec(searchParams.get("labelSelector") ?? "")?.[1];
      const items = snapshots.filter((snapshot) => snapshot.claim === claim).map((metadata) => ({ metadata }));
      return reply(200, { items });
    }
    const at = snapshots.findIndex(({ name }) => pathname === `${base}/${name}`);
    if (request.method !== "DELETE" || at === -1) return reply(403, { message: `${request.method} is forbidden` });
    snapshots.splice(at, 1);
    return reply(200, {});
  });
  const local = await listenLocally(server);
  const env = {
    GATEHOUSE_VOLUME_SNAPSHOT_CLAIM: "node-workspace",
    GATEHOUSE_VOLUME_SNAPSHOT_CLASS_NAME: "csi",
    GATEHOUSE_VOLUME_SNAPSHOT_KEEP: "2",
    GATEHOUSE_VOLUME_SNAPSHOT_LOG_LEVEL: "silent",
  };
  const replacedService = replaceConstants(volumeSnapshotSettings.schema, {
    "kubernetes.apiUrl": local.url,
    "kubernetes.serviceAccountDirectory": directory,
  });
  const run = async (change: Readonly<Record<string, string>> = {}, { json = false } = {}) => {
    const [printed, said]: [string[], string[]] = [[], []];
    const out = (text: string) => void printed.push(text);
    const error = (text: string) => void said.push(text);
    const sources = { env: { ...env, ...change }, settingsFile: undefined, json };
    const output = { signal: new AbortController().signal, out, error, mask: createMask() };
    const status = await runVolumeSnapshotCommand(sources, output);
    return { status, printed: printed.join(""), said: said.join("") };
  };
  const close = async () => {
    replacedService[Symbol.dispose]();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true });
  };
  return { run, bodies, snapshots, [Symbol.asyncDispose]: close };
}

const taken = (day: number, claim = "node-workspace"): Snapshot => ({
  name: `${claim}-${day}`,
  creationTimestamp: `2026-11-0${day}T03:00:00Z`,
  claim,
});

test("takes a snapshot of the claim and keeps its newest snapshots, without touching any others", async () => {
  await using cluster = await clusterOf([taken(1), taken(3), taken(2), taken(1, "ledger")]);
  expect(await cluster.run()).toEqual({ status: 0, printed: "", said: "" });
  expect(cluster.bodies).toEqual([
    {
      apiVersion: "snapshot.storage.k8s.io/v1",
      kind: "VolumeSnapshot",
      metadata: {
        name: expect.stringMatching(/^node-workspace-\d{8}t\d{6}z$/),
        labels: { "gatehouse.io/claim": "node-workspace" },
      },
      spec: { source: { persistentVolumeClaimName: "node-workspace" }, volumeSnapshotClassName: "csi" },
    },
  ]);
  const [third, other, now] = cluster.snapshots.map(({ name }) => name);
  expect([third, other]).toEqual(["node-workspace-3", "ledger-1"]);
  expect(now).toMatch(/^node-workspace-2/);
});

test("prints what was created and deleted as one JSON document, and logs elsewhere", async () => {
  await using cluster = await clusterOf([taken(1), taken(3)]);
  const { status, printed, said } = await cluster.run({ GATEHOUSE_VOLUME_SNAPSHOT_LOG_LEVEL: "info" }, { json: true });
  expect([status, JSON.parse(printed)]).toEqual([
    0,
    {
      result: "taken",
      claim: "node-workspace",
      name: cluster.snapshots.at(-1)?.name,
      deleted: ["node-workspace-1"],
    },
  ]);
  expect(said).toContain("took the snapshot");
});

test("reports a cluster without the snapshot controller with the API server's message", async () => {
  await using cluster = await clusterOf([], { serves: false });
  expect(await cluster.run()).toEqual({
    status: 1,
    printed: "",
    said: "volume-snapshot: can't take a snapshot of node-workspace: 404: the server could not find the requested resource; grant create on volumesnapshots, and check that the cluster runs the snapshot controller.\n",
  });
});

test("reports all invalid settings together", async () => {
  await using cluster = await clusterOf([]);
  const wrong = { GATEHOUSE_VOLUME_SNAPSHOT_CLAIM: "", GATEHOUSE_VOLUME_SNAPSHOT_KEEP: "0" };
  const { status, said } = await cluster.run(wrong);
  expect(status).toBe(1);
  expect(said).toMatch(/CLAIM[^]*KEEP/);
});
