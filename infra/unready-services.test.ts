import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { listUnreadyPods } from "./unready-services.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-kubectl-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Writes a program that responds like kubectl: its table of pods for `get`, the health check's output for `exec`. */
function writeKubectl(name: string, table: string, checked: object): string {
  const path = join(directory, name);
  const ready = `process.stdout.write("HTTP 503: " + ${JSON.stringify(JSON.stringify(checked))}); process.exit(1);`;
  const found = `process.stdout.write(${JSON.stringify(table)});`;
  writeFileSync(path, `#!${process.execPath}\nif (process.argv.includes("exec")) { ${ready} } else { ${found} }\n`);
  chmodSync(path, 0o755);
  return path;
}

const table = `upstream-6c5-x2     1/1   Running            0             2m   upstream
volume-snapshot-1   0/1   Completed          0             9h   volume-snapshot
node-0              0/2   Running            2 (91s ago)   2m   node
facilitator-7d-4k   0/1   Running            0             2m   facilitator
resource-server-1   0/1   ImagePullBackOff   0             2m   resource-server
prometheus-5f       0/1   Pending            0             2m   prometheus
`;

it("lists unready pods with their reasons and a command that checks them", async () => {
  const checks = { signer: { ok: false, message: "no gas at 0x1" }, ledger: { ok: true, message: "open" } };
  const kubectl = writeKubectl("kubectl", table, { checks });
  const services = ["node", "facilitator", "alertmanager"];
  const place = { context: "production", namespace: "pay", prefix: "gh", services, kubectl, withinMs: 0 };
  const at = `${kubectl} --context production --namespace pay`;
  const asked = (service: string, pod: string, port: number) => ({
    service,
    reason: "signer: no gas at 0x1",
    check: `${at} exec ${pod} --container ${service} -- node /app/infra/images/health-check.mjs http http://127.0.0.1:${port}/readyz 0`,
  });
  expect(await listUnreadyPods(place)).toEqual([
    asked("sidecar", "node-0", 9_600),
    asked("facilitator", "facilitator-7d-4k", 9_602),
    { service: "resource-server", reason: "ImagePullBackOff", check: `${at} describe pod resource-server-1` },
    { service: "prometheus", reason: "Pending", check: `${at} describe pod prometheus-5f` },
    { service: "alertmanager", reason: "no pod was created", check: `${at} get events` },
  ]);
});

it("reports a missing kubectl without failing the update", async () => {
  const kubectl = join(directory, "none");
  const place = { context: undefined, namespace: "pay", prefix: "gh", services: ["node"], kubectl, withinMs: 0 };
  const found = await listUnreadyPods(place);
  expect(found).toEqual([
    expect.objectContaining({
      service: "all",
      reason: `${kubectl} is not on the PATH, so nothing was checked; install it (https://kubernetes.io/docs/tasks/tools/)`,
    }),
  ]);
});
