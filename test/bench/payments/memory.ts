import { pause } from "#daemon/time.ts";
import { readMemoryMiB } from "../gateway/wrk.ts";
import { print } from "../gateway/table.ts";
import { quantile } from "../measurement.ts";
import { sendAll } from "./load.ts";
import { postBodies } from "./operation.ts";
import { setBlockTime } from "./settlements.ts";
import { startOwn } from "./sides.ts";
import { signBodies } from "./signed-bodies.ts";
import type { PaymentLines } from "./setup.ts";

const settlementsPerMinute = 1_000;
const atOnce = 5;
const intervalMs = (atOnce * 60_000) / settlementsPerMinute;
const verify = { path: "/verify", field: "isValid", good: true } as const;
const settle = { path: "/settle", field: "success", good: true } as const;

/** Resident memory at 1,000 payments per minute: the peak, and its growth over the second half. */
export const memoryLines: PaymentLines = {
  name: "memory",
  measure: async ({ chain, place, memorySeconds, sides }) => {
    await setBlockTime(chain, 1);
    await using side = await startOwn(place);
    const samples: number[] = [];
    const posting: Promise<unknown>[] = [];
    const end = performance.now() + memorySeconds * 1_000;
    for (let due = performance.now(); due < end; due += intervalMs) {
      const bodies = signBodies(place.token, atOnce);
      await sendAll({ ...side, ...postBodies(side, bodies, verify), atOnce });
      posting.push(sendAll({ ...side, ...postBodies(side, bodies, settle), atOnce }));
      samples.push(readMemoryMiB(side.pid, "VmRSS"));
      await pause(Math.max(0, due + intervalMs - performance.now()));
    }
    await Promise.all(posting);
    const quarter = Math.ceil(samples.length / 4);
    const medians = Array.from({ length: 4 }, (_, part) =>
      quantile(samples.slice(part * quarter, (part + 1) * quarter), 0.5),
    );
    const otherSides = sides.map(({ name, pid }) => ({
      side: `${name}, after the other lines`,
      MiB: readMemoryMiB(pid, "VmRSS"),
    }));
    const what = `${settlementsPerMinute} settlements a minute for ${memorySeconds} s: median of each quarter`;
    print("resident memory", [{ side: what, MiB: medians.join(", ") }, ...otherSides]);
    return [
      {
        what: "resident memory at 1,000 settlements a minute, MiB",
        figure: Math.max(...samples),
        target: { most: 120 },
      },
    ];
  },
};
