import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { listUnreadyPods } from "./unready-pods.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-kubectl-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Writes a program that answers as kubectl does: pods for `get`, what the health check prints for `exec`. */
function writeKubectl(name: string, pods: object, checked: object): string {
  const path = join(directory, name);
  const ready = `process.stdout.write("HTTP 503: " + ${JSON.stringify(JSON.stringify(checked))}); process.exit(1);`;
  const found = `process.stdout.write(${JSON.stringify(JSON.stringify(pods))});`;
  writeFileSync(path, `#!${process.execPath}\nif (process.argv.includes("exec")) { ${ready} } else { ${found} }\n`);
  chmodSync(path, 0o755);
  return path;
}

const running = (name: string, ready: boolean) => ({ name, ready, started: true, state: { running: {} } });
const waiting = (name: string, reason: string, message?: string) => ({
  name,
  ready: false,
  started: false,
  state: { waiting: { reason, message } },
});
const pod = (name: string, containerStatuses: object[], initContainerStatuses: object[] = []) => ({
  metadata: { name },
  status: { conditions: [{ type: "Ready", status: "False" }], initContainerStatuses, containerStatuses },
});
const ready = { metadata: { name: "upstream-1" }, status: { conditions: [{ type: "Ready", status: "True" }] } };
const unplaced = { type: "PodScheduled", status: "False", message: "0/3 nodes are available: insufficient cpu." };

it("lists what is not ready with the service's own reason, or with the cluster's, and how to look again", async () => {
  const kubectl = writeKubectl(
    "kubectl",
    {
      items: [
        ready,
        pod("node-0", [waiting("node", "PodInitializing")], [running("sidecar", false)]),
        pod("facilitator-1", [running("facilitator", false)]),
        pod("resource-server-1", [waiting("resource-server", "ImagePullBackOff", 'Back-off pulling image "x"')]),
        { metadata: { name: "prometheus-1" }, status: { conditions: [unplaced] } },
      ],
    },
    { checks: { signer: { ok: false, message: "no gas at 0x1" }, ledger: { ok: true, message: "open" } } },
  );
  const place = { context: "production", namespace: "pay", prefix: "gh", kubectl, withinMs: 0 };
  const at = `${kubectl} --context production --namespace pay`;
  const check = (service: string, podName: string, port: number) => ({
    service,
    reason: "signer: no gas at 0x1",
    check: `${at} exec ${podName} --container ${service} -- node /app/infra/images/health-check.mjs http http://127.0.0.1:${port}/readyz 0`,
  });
  expect(await listUnreadyPods(place)).toEqual([
    {
      service: "resource-server",
      reason: 'ImagePullBackOff: Back-off pulling image "x"',
      check: `${at} describe pod resource-server-1`,
    },
    { service: "prometheus-1", reason: unplaced.message, check: `${at} describe pod prometheus-1` },
    check("sidecar", "node-0", 9_600),
    check("facilitator", "facilitator-1", 9_602),
  ]);
});

it("says so where the cluster can't be asked, instead of failing an update that succeeded", async () => {
  const kubectl = join(directory, "none");
  const found = await listUnreadyPods({ context: undefined, namespace: "pay", prefix: "gh", kubectl, withinMs: 0 });
  expect(found).toEqual([
    expect.objectContaining({
      service: "all",
      reason: `${kubectl} is not on the PATH, so nothing was checked; install it (https://kubernetes.io/docs/tasks/tools/)`,
    }),
  ]);
});
