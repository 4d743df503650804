import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { readResidentMiB } from "../../support/stack-processes.ts";
import type { Measurement } from "../measurement.ts";
import { startSidecar } from "./sidecar-under-test.ts";

const passes = 10_000;
const firstLook = 1_000;
const writesPerLook = 100;
/** One in this many writes is a drift, so that corrections are included. */
const writesPerDrift = 200;
const writeGapMs = 2;
const targetMiB = 100;
const targetGrowth = 0.05;

export async function measureMemory(): Promise<readonly Measurement[]> {
  await using node = await createFakeNode();
  await node.start();
  await using sidecar = await startSidecar(node, {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "desired",
  });
  await sidecar.reason("ConfigReconciled", "Reconciled", 20_000);
  const desired = await node.config();
  const atStart = readResidentMiB(sidecar.pid);
  const passed = () => sidecar.metric("gatehouse_reconciles_total");
  const from = await passed();
  let writes = 0;
  /** The median of the readings, because uncollected garbage varies. */
  const passUntil = async (count: number) => {
    while ((await passed()) - from < count) {
      for (let index = 0; index < writesPerLook; index += 1) {
        writes += 1;
        const text = writes % writesPerDrift === 0 ? desired.replace('"desired"', `"drift-${writes}"`) : desired;
        await writeFile(node.configPath, text);
        await sleep(writeGapMs);
      }
    }
    const looks: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      looks.push(readResidentMiB(sidecar.pid));
      await sleep(1_000);
    }
    return looks.sort((a, b) => a - b)[2] ?? 0;
  };
  const early = await passUntil(firstLook);
  const late = await passUntil(passes);
  const growth = late / early - 1;
  return [
    {
      what: `Resident memory after ${passes} reconciles`,
      target: `< ${targetMiB} MiB, growth from the ${firstLook}th < ${targetGrowth * 100} %`,
      measured: `${late} MiB (${atStart} at the start, ${early} after ${firstLook}), growth ${(growth * 100).toFixed(1)} %`,
      isMet: late < targetMiB && growth < targetGrowth,
      how: `VmRSS of a real sidecar (gateway included); each write of node.conf is a pass, one in ${writesPerDrift} a drift that is corrected`,
    },
  ];
}
