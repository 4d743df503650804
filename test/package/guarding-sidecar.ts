import { join } from "node:path";
import { expect } from "vitest";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";

/** Starts the sidecar of a packed program, in `folder`, next to a node. */
export async function startGuardingSidecar(
  node: FakeNode,
  { program, folder, env }: Readonly<{ program: string; folder: string; env?: Readonly<Record<string, string>> }>,
): Promise<ServiceProcess> {
  const settings = {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(folder, "sidecar-state"),
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
  };
  return startService("sidecar", { ...env, ...settings }, { program, cwd: folder });
}

/** Reads a runbook and the page's own files, which fails if the package lacks them. */
export async function expectRunbooks(url: string): Promise<void> {
  const runbook = await fetch(`${url}/runbooks/node-down.md`);
  expect(await runbook.text()).toMatch(/^# The node is down\n/);
  const page = await (await fetch(url)).text();
  for (const [, part = ""] of page.matchAll(/(?:href|src)="(\/page\/[^"#]+)"/g)) {
    expect([part, (await fetch(`${url}${part}`)).status]).toEqual([part, 200]);
  }
}
