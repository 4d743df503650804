import { writeFile } from "node:fs/promises";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { readUntil } from "#daemon/testing/until.ts";
import type { Measurement } from "../measurement.ts";
import { startSidecar } from "./sidecar-under-test.ts";

const conflictingWrites = 10_000;
const budgetPerHour = 6;
const calmMs = 120_000;

export async function measureConflict(): Promise<readonly Measurement[]> {
  await using node = await createFakeNode();
  await node.start();
  await using sidecar = await startSidecar(node, {
    GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "ours",
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: String(budgetPerHour),
  });
  await sidecar.reason("ConfigReconciled", "Reconciled", 20_000);
  await sidecar.reason("NoRestartPending", "NoRestart", 20_000);
  const ours = await node.config();
  const startsBefore = await node.starts();
  const began = performance.now();
  for (let index = 0; index < conflictingWrites; index += 1) {
    await writeFile(node.configPath, ours.replace('"ours"', `"theirs-${index}"`));
  }
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  const { reason, message } = await sidecar.reason("ConfigReconciled", "Contested", 30_000);
  await readUntil(node.config, (text) => text === ours, 30_000);
  const during = (await node.starts()) - startsBefore;
  await sidecar.reason("ConfigReconciled", "Reconciled", calmMs);
  await sidecar.reason("NoRestartPending", "NoRestart", 30_000);
  const restarts = (await node.starts()) - startsBefore;
  return [
    {
      what: `${conflictingWrites} conflicting writes by a second writer`,
      target: `at most ${budgetPerHour} restarts, a condition that says what happened, node.conf right in the end`,
      measured: `${during} restarts during the writes, ${restarts - during} after them; ConfigReconciled ${reason}: "${message}"`,
      isMet: restarts <= budgetPerHour,
      how: `writes without a pause for ${seconds} s to a real sidecar's node.conf, then until a minute of calm had passed`,
    },
  ];
}
