import { spawn } from "node:child_process";
import { expect, it, onTestFinished } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { gatehouseProgram } from "../../support/programs/place.ts";
import type { RunningStack } from "../../support/running-stack.ts";

type Overview = Readonly<{
  targets: readonly Readonly<{
    name: string;
    state: string;
    page: string;
    figures: Readonly<{ payments?: Readonly<{ pending: number; balances: readonly Readonly<{ balance: number }>[] }> }>;
  }>[];
}>;

export function testOverview(running: () => RunningStack): void {
  it("shows the services and the payments on one page", async () => {
    const stack = running();
    const { sidecar, facilitatorOperations, resourceServerOperations } = stack.ports;
    const ports = { sidecar, facilitator: facilitatorOperations, "resource-server": resourceServerOperations };
    const pages = Object.entries(ports).map(([name, port]) => `${name}=http://127.0.0.1:${port}/`);
    await until("the hint is printed", generousMs, () =>
      stack.output().includes(`--page --targets ${pages.join(" ")}`),
    );
    const child = spawn(process.execPath, [gatehouseProgram, "status", "--page", "0", "--targets", ...pages]);
    onTestFinished(() => void child.kill("SIGKILL"));
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    const url = await until("the page is served", generousMs, () => / is at (\S+)\n/.exec(printed)?.[1]);
    const targets = await until("all are right", generousMs, async () => {
      const reportedResponse = (await (await fetch(`${url}overview`)).json()) as Overview;
      return (
        reportedResponse.targets.every(({ state }) => state === "Healthy" || state === "Ready") &&
        reportedResponse.targets
      );
    });
    expect(targets.map(({ name, state }) => [name, state])).toEqual([
      ["sidecar", "Healthy"],
      ["facilitator", "Ready"],
      ["resource-server", "Ready"],
    ]);
    expect(targets[0]?.page).toBe(`http://127.0.0.1:${stack.ports.sidecar}/`);
    const payments = targets[1]?.figures.payments;
    expect(payments?.pending).toBe(0);
    expect(payments?.balances[0]?.balance).toBeGreaterThan(0);
  });
}
