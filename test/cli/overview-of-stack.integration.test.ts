import { expect, test } from "vitest";
import { freePorts } from "../support/free-ports.ts";
import { spawnStack } from "../support/running-stack.ts";
import { generousMs, until } from "../support/until.ts";

type Overview = Readonly<{
  targets: readonly Readonly<{
    name: string;
    state: string;
    page: string;
    figures: Readonly<{ payments?: Readonly<{ pending: number; balance: number }> }>;
  }>[];
}>;

test("npm start -- --overview shows the services and the payments on one page, which ends with the stack", async () => {
  const [port = 0] = await freePorts(1);
  await using stack = await spawnStack(["--overview", String(port)]);
  const url = `http://127.0.0.1:${port}/`;
  await until("the stack is up", 120_000, () => {
    if (stack.process.exitCode !== null) throw new Error(`the stack ended: ${stack.output()}`);
    return stack.output().includes("Ctrl-C stops everything.");
  });
  expect(stack.output()).toContain(`The overview of the services is at ${url}\n`);
  const targets = await until("all are right", generousMs, async () => {
    const told = (await (await fetch(`${url}overview`)).json()) as Overview;
    return told.targets.every(({ state }) => state === "Healthy" || state === "Ready") && told.targets;
  });
  expect(targets.map(({ name, state }) => [name, state])).toEqual([
    ["sidecar", "Healthy"],
    ["facilitator", "Ready"],
    ["resource-server", "Ready"],
  ]);
  expect(targets[0]?.page).toBe(`http://127.0.0.1:${stack.ports.sidecar}/`);
  const payments = targets[1]?.figures.payments;
  expect(payments?.pending).toBe(0);
  expect(payments?.balance).toBeGreaterThan(0);
  expect(await stack.stop()).toBe(0);
  await expect(fetch(url, { signal: AbortSignal.timeout(generousMs) })).rejects.toThrow();
}, 240_000);
