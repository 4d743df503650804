import { describe, expect, test } from "vitest";
import { createDockerDriver, createDockerEngine } from "#sidecar/upkeep/drivers/docker-driver.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startContainer, createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";

const found = await findEngine();
const engine = found.ok ? found : { url: "", nodeImage: "" };
const signal = new AbortController().signal;

/** Program that prints a line when it is up, and exits on SIGTERM after printing another. */
const obedient =
  'process.on("SIGTERM", () => { console.log("stopping"); process.exit(0); }); setInterval(() => {}, 1000); console.log("up");';
/** A program that ignores SIGTERM. */
const deaf = 'process.on("SIGTERM", () => console.log("no")); setInterval(() => {}, 1000); console.log("up");';

async function startNode(program: string) {
  const container = await startContainer({
    image: engine.nodeImage,
    options: ["--network", "none"],
    command: ["node", "-e", program],
  });
  await until("the process is up", generousMs, async () => (await container.logs()).includes("up"));
  return container;
}

function driverOf(container: string, stopTimeoutSeconds: number) {
  const connection = createDockerEngine({ engine: engine.url, timeoutMs: 60_000 });
  return createDockerDriver({ container, stopTimeoutSeconds }, connection);
}

describe.skipIf(!found.ok)(`the docker driver with a real engine${skipReason(found)}`, () => {
  test("restarts the process with SIGTERM", async () => {
    await using container = await startNode(obedient);
    const driver = driverOf(container.name, 30);
    const before = { pid: await container.inspect("{{.State.Pid}}"), startedAt: await driver.startedAt?.(signal) };
    await driver.restart(signal);
    const startedAt = await driver.startedAt?.(signal);
    expect(await container.inspect("{{.State.Pid}}")).not.toBe(before.pid);
    expect(Number(startedAt)).toBeGreaterThan(Number(before.startedAt));
    expect(startedAt).toBe(Date.parse(await container.inspect("{{.State.StartedAt}}")));
    expect(await container.logs()).toMatch(/^up\nstopping/);
  });

  test("kills a process that ignores SIGTERM after the stop timeout", async () => {
    await using container = await startNode(deaf);
    const driver = driverOf(container.name, 1);
    const pid = await container.inspect("{{.State.Pid}}");
    await driver.restart(signal);
    expect(await container.inspect("{{.State.Pid}}")).not.toBe(pid);
    expect(await container.logs()).toMatch(/^up\nno/);
  });

  test("reports a stopped container as not running, and starts it on restart", async () => {
    await using container = await startNode(obedient);
    await runDocker("stop", container.name);
    const driver = driverOf(container.name, 30);
    expect(await driver.startedAt?.(signal)).toBe("not-running");
    await driver.restart(signal);
    expect(await container.inspect("{{.State.Running}}")).toBe("true");
  });

  test("reports a missing container with the engine's message", async () => {
    const name = createUniqueName("gone");
    const driver = driverOf(name, 1);
    const words = `404: No such container: ${name}`;
    await expect(driver.restart(signal)).rejects.toThrow(`container ${name} could not be restarted: ${words}`);
    await expect(driver.startedAt?.(signal)).rejects.toThrow(`container ${name} can't be inspected: ${words}`);
  });
});
