import { generousMs, until } from "#daemon/testing/until.ts";

type Status = Readonly<{
  verdict: Readonly<{ level: string }>;
  conditions: readonly Readonly<{ type: string; status: string; reason: string; message: string }>[];
  events: readonly Readonly<{ kind: string; message: string }>[];
  plan?: Readonly<{ steps: readonly string[] }>;
  actions?: unknown;
}>;

export async function readStatus(url: string | undefined): Promise<Status> {
  return (await (await fetch(`${url}/status`)).json()) as Status;
}

export async function readCondition(url: string | undefined, type: string) {
  return (await readStatus(url)).conditions.find((condition) => condition.type === type);
}

export async function waitForReason(url: string | undefined, type: string, reason: string) {
  return until(`${type} is ${reason}`, generousMs, async () => {
    const condition = await readCondition(url, type);
    return condition?.reason === reason && condition;
  });
}

export async function waitUntilSettled(url: string | undefined): Promise<void> {
  await waitForReason(url, "ConfigReconciled", "Reconciled");
  await waitForReason(url, "NoRestartPending", "NoRestart");
  await waitForReason(url, "Pruning", "Enabled");
}
