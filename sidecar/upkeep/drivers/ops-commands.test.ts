import { spawn } from "node:child_process";
import { once } from "node:events";
import { pino } from "pino";
import { expect, it } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { isRunning, readProcessIdentity } from "#daemon/process/running-process.ts";
import { stopWithOps } from "./ops-commands.ts";

it("stops a node whose process becomes visible only with its open port, without the stop command, which would stop the neighbouring node", async () => {
  const child = spawn("sleep", ["60"]);
  const ended = once(child, "exit");
  await once(child, "spawn");
  const { pid = 0 } = child;
  const node = (await readProcessIdentity(pid)) ?? { pid, startTicks: 0 };
  const runs = () => isRunning(node);
  let isOpen = false;
  const stopResult = await stopWithOps(
    {
      commandText: "`./ops stop --force`",
      run: () => Promise.reject(new Error("it would stop the other node")),
      isAlone: () => Promise.resolve(false),
      graceMs: 5_000,
      kills: true,
    },
    AbortSignal.timeout(20_000),
    {
      processes: {
        find: async () => ({ own: isOpen && (await runs()) ? [node] : [], elsewhere: [] }),
        inside: async () => [],
        runs,
      },
      check: async () => {
        isOpen = true;
        return (await runs())
          ? { answers: 1 }
          : { answers: 1, failure: { reason: "ConnectionRefused", message: "closed" } };
      },
      clock: systemClock,
      events: { add: () => undefined },
      log: pino({ level: "silent" }),
    },
  );
  expect(stopResult).toEqual({ result: undefined, wasSeen: true, isForced: false });
  expect(await ended).toEqual([null, "SIGTERM"]);
});
