import { expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import type { RunningStack } from "../../support/running-stack.ts";

type Overview = Readonly<{
  targets: readonly Readonly<{
    name: string;
    state: string;
    page: string;
    figures: Readonly<{ payments?: Readonly<{ pending: number; balances: readonly Readonly<{ balance: number }>[] }> }>;
  }>[];
}>;

/** Tests what `--overview` adds to a stack; `stop.ts` tests that it stops with the stack. */
export function testOverview(running: () => RunningStack, url: () => string): void {
  it("shows the services and the payments on one page", async () => {
    const stack = running();
    expect(stack.output()).toContain(`The overview of the services is at ${url()}\n`);
    const targets = await until("all are right", generousMs, async () => {
      const reported = (await (await fetch(`${url()}overview`)).json()) as Overview;
      return reported.targets.every(({ state }) => state === "Healthy" || state === "Ready") && reported.targets;
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
