import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { PlatformError } from "../stack-platform.ts";
import { createKubectlCluster, findCurrentContext } from "./kubectl.ts";

let directory: string;

beforeEach(async () => {
  directory = await makeTestDirectory();
});

async function writeStandIn(does: string) {
  const program = join(directory, "kubectl");
  const script = `#!/bin/sh\necho "$@" >${directory}/words\ncat >${directory}/input\n${does}\n`;
  await writeFile(program, script, { mode: 0o755 });
  return { program, runMs: 2_000 };
}

const kindSchema = z.object({ kind: z.string() });
const createCluster = async (does: string) =>
  createKubectlCluster({ context: "production", namespace: "pay" }, await writeStandIn(does));
const readBack = (name: string) => readFile(join(directory, name), "utf8");

it("queries the cluster and namespace of the stack, regardless of kubectl's defaults", async () => {
  const cluster = await createCluster('echo \'{"kind":"Pod"}\'');
  expect(await cluster.find(kindSchema, "pod", "node-0")).toEqual({ kind: "Pod" });
  expect(await readBack("words")).toBe(
    "get pod node-0 --ignore-not-found --output=json --show-managed-fields --context production --namespace pay --request-timeout=30s\n",
  );
});

it("distinguishes a missing object from an unknown one", async () => {
  expect(await (await createCluster("exit 0")).find(kindSchema, "pod", "node-0")).toBeUndefined();
  const other = await createCluster("echo something else");
  await expect(other.find(kindSchema, "pod", "node-0")).rejects.toThrow(
    "kubectl reported pod node-0 in a form that this version does not know",
  );
});

it("passes objects on standard input, and reports one that already exists under that name", async () => {
  const object = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "node-look", labels: {} },
    spec: { restartPolicy: "Never" },
  };
  expect(await (await createCluster("exit 0")).create(object)).toBe(true);
  expect(JSON.parse(await readBack("input"))).toEqual(object);
  const taken = "echo 'Error from server (AlreadyExists): error when creating \"STDIN\": taken' >&2; exit 1";
  expect(await (await createCluster(taken)).create(object)).toBe(false);
});

it.each([
  [
    "a denied permission",
    'echo "Warning: old"; echo "Error from server (Forbidden): pods is forbidden" >&2; exit 1',
    "failed",
  ],
  ["an unreachable cluster", 'echo "The connection to the server 10.0.0.1:6443 was rejected" >&2; exit 1', "waits"],
  ["an expired login", 'echo "error: You must be logged in to the server" >&2; exit 1', "waits"],
  ["kubectl that hangs", "sleep 60", "waits"],
])("decides whether a retry may succeed: %s", async (_, does, kind) => {
  const logFailure = await (await createCluster(does)).readLogs("node-look").catch((error: unknown) => error);
  expect(logFailure).toBeInstanceOf(PlatformError);
  expect(logFailure).toMatchObject({ kind });
});

it("shows the API server's message without the warnings before it", async () => {
  const said = 'echo "Warning: deprecated" >&2; echo "Error from server (Forbidden): pods is forbidden" >&2; exit 1';
  const pendingLogs = (await createCluster(said)).readLogs("node-look");
  await expect(pendingLogs).rejects.toThrow(
    "kubectl logs node-look failed: Error from server (Forbidden): pods is forbidden",
  );
});

it("explains what to do without kubectl, and then has no context", async () => {
  const cluster = createKubectlCluster({ namespace: "pay" }, { program: join(directory, "none") });
  await expect(cluster.serves("apps")).rejects.toThrow("is not on the PATH; install it");
  const brokenKubectl = await writeStandIn('echo "error: current-context is not set" >&2; exit 1');
  expect(await findCurrentContext(brokenKubectl)).toBeUndefined();
  expect(await findCurrentContext(await writeStandIn("echo production"))).toBe("production");
});
