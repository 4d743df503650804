import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { startHeadsSocket } from "../../support/node/heads-socket.ts";
import type { Measurement } from "../measurement.ts";
import { startSidecar } from "./sidecar-under-test.ts";

const settledMs = 10_000;
const idleMs = 60_000;
const targetPercent = 1;

/** Clock ticks per second in proc(5): 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

export async function measureIdle(): Promise<readonly Measurement[]> {
  await using node = await createFakeNode();
  await node.start();
  await using heads = await startHeadsSocket();
  await using sidecar = await startSidecar(node, {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: heads.url,
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
  });
  await sidecar.reason("Pruning", "Enabled", 20_000);
  await sleep(settledMs);
  const before = readCpuSeconds(sidecar.pid);
  await sleep(idleMs);
  const after = readCpuSeconds(sidecar.pid);
  const percent = (seconds: number) => (seconds / (idleMs / 1_000)) * 100;
  const own = percent(after.own - before.own);
  const tool = percent(after.children - before.children);
  return [
    {
      what: "CPU when nothing changes",
      target: `< ${targetPercent} % of a core`,
      measured: `${own.toFixed(2)} %, and ${tool.toFixed(2)} % in node_cli, which it asks every 30 s`,
      isMet: own < targetPercent,
      how: `user and system time of a real sidecar (gateway included) by proc(5), over ${idleMs / 1_000} s, settings by default, a head each second`,
    },
  ];
}

function readCpuSeconds(pid: number): Readonly<{ own: number; children: number }> {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in brackets may contain spaces; after it comes the third field of proc(5).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
  return { own: (user + system) / ticksPerSecond, children: (childUser + childSystem) / ticksPerSecond };
}
