import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runGatehouse } from "../../support/run-command.ts";
import { findStackProcesses } from "../../support/stack-processes.ts";
import { until } from "#daemon/testing/until.ts";
import type { LiveFault } from "./live-fault.ts";
import { repeatAct } from "./repeat-act.ts";
import type { WatchedStack } from "./watched-stack.ts";

const findConfig = ({ binDirectory }: WatchedStack) => join(binDirectory, "node.conf");

/** Freezes a part of the stack and its own children, like a process that hangs. */
export function hang(name: string) {
  return (struck: WatchedStack): Promise<AsyncDisposable> => {
    const pid = findStackProcesses(struck.stack).get(name);
    if (pid === undefined) throw new Error(`no process of the ${name} in the stack`);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
    const pids = [pid, ...children.map(Number)];
    const signal = (how: NodeJS.Signals) => {
      for (const each of pids) process.kill(each, how);
      return Promise.resolve();
    };
    return signal("SIGSTOP").then(() => ({ [Symbol.asyncDispose]: () => signal("SIGCONT") }));
  };
}

/** Waits until a condition of the sidecar has a reason. */
async function waitForReason(
  { prometheus }: WatchedStack,
  type: string,
  ...reasons: readonly string[]
): Promise<string> {
  return until(`${type} is ${reasons.join(" or ")}`, 60_000, async () => {
    const [sample] = await prometheus.query(`gatehouse_condition_info{type="${type}"} == 1`);
    return reasons.find((reason) => reason === sample?.metric["reason"]);
  });
}

async function resume({ stack }: WatchedStack): Promise<void> {
  const { status, stderr } = await runGatehouse(["resume", "--state-directory", join(stack.stateDirectory, "sidecar")]);
  if (status !== 0) throw new Error(`gatehouse resume: ${stderr}`);
}

/** Keeps switching the node's metrics off, like another program, never with the same bytes twice. */
async function repeatDrift(struck: WatchedStack): Promise<AsyncDisposable> {
  const path = findConfig(struck);
  const whole = await readFile(path, "utf8");
  const writing = repeatAct(150, (round) =>
    writeFile(path, whole.replace(/(_enable_\w+"\s*:\s*)true/, "$1false") + " ".repeat(1 + (round % 500))),
  );
  return {
    [Symbol.asyncDispose]: async () => {
      await writing[Symbol.asyncDispose]();
      await waitForReason(struck, "ConfigReconciled", "Reconciled");
      await resume(struck);
    },
  };
}

/** Changes `rpc_port`, which the node reads only at startup, until the sidecar may not restart it any more. */
async function takeWholeBudget(struck: WatchedStack): Promise<AsyncDisposable> {
  const path = findConfig(struck);
  for (let port = 20_001; ; port += 1) {
    const running = await readFile(path, "utf8");
    await writeFile(path, running.replace(/("rpc_port"\s*:\s*")\d+/, `$1${port}`));
    await sleep(3_000);
    const reason = await waitForReason(struck, "NoRestartPending", "NoRestart", "BudgetExhausted");
    if (reason === "BudgetExhausted") return { [Symbol.asyncDispose]: () => writeFile(path, running) };
  }
}

const configuration: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehousePaused",
    what: "`ws_port` edited to a port in use, so that the node does not start; fixed by `gatehouse resume`",
    besides: ["GatehouseConditionFalse"],
    strike: async (struck) => {
      const whole = await readFile(findConfig(struck), "utf8");
      const takenPort = new URL(struck.pushgatewayUrl).port;
      await writeFile(findConfig(struck), whole.replace(/("ws_port"\s*:\s*)"\d+"/, `$1"${takenPort}"`));
      return {
        [Symbol.asyncDispose]: async () => {
          await writeFile(findConfig(struck), whole);
          await resume(struck);
        },
      };
    },
  },
  {
    alert: "GatehouseConfigContested",
    what: "another program writes node.conf six times a second; fixed by `gatehouse resume`",
    besides: ["GatehouseConditionFalse"],
    strike: repeatDrift,
  },
];

const pushed: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseMetricsNotArriving",
    what: "the Pushgateway stopped (SIGSTOP)",
    besides: ["GatehouseConditionFalse"],
    strike: hang("pushgateway"),
  },
  {
    alert: "GatehouseMetricsNotArriving",
    what: "another node pushes under the same job name, once a second",
    besides: ["GatehouseConditionFalse"],
    strike: ({ pushgatewayUrl }) => {
      const push = { method: "PUT", body: "height 1\n" };
      const url = `${pushgatewayUrl}/metrics/job/gatehouse-devnet`;
      return Promise.resolve(repeatAct(1_000, async () => (await fetch(url, push)).text()));
    },
  },
];

const budget: LiveFault<WatchedStack> = {
  alert: "GatehouseRestartBudgetExhausted",
  what: "`rpc_port` edited until four restarts within the hour are exhausted; fixed by undoing the last edit",
  besides: ["GatehouseConditionFalse"],
  firesWithinMs: 180_000,
  strike: takeWholeBudget,
};

/** Faults of the sidecar's work for its node. The budget's fault leaves no restart for others in this hour. */
export const upkeepFaults = { configuration, pushed, budget } as const;
