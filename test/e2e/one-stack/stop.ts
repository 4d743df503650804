import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isListening } from "#daemon/testing/free-ports.ts";
import type { RunningStack } from "../../support/running-stack.ts";
import { findStackProcesses } from "../../support/stack-processes.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { readStoredFiles } from "./kept-files.ts";

/** Tests a stack's output and files, and how it stops; `besides`: other URLs that it serves, which stop with it. */
export function testStop(running: () => RunningStack, besides: () => readonly string[]): void {
  it("prints no key or signature, stops every process on Ctrl-C, and keeps its files private", async () => {
    const stack = running();
    const logs = ["sidecar", "facilitator", "resource-server", "upstream", "pushgateway"].map((name) =>
      readFileSync(`${stack.stateDirectory}/log/${name}.log`, "utf8"),
    );
    const printed = [stack.output(), ...logs].join("\n");
    expect(printed).not.toContain("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
    expect(printed).not.toContain("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    expect(printed).not.toMatch(/0x[0-9a-fA-F]{130}/);
    const whileRunning = readStoredFiles(stack.stateDirectory);
    const pids = [...findStackProcesses(stack).values()];
    // A service that does not stop within its grace period is killed, so this wait ends.
    expect(await stack.stop()).toBe(0);
    // An exited process may stay in the process table until its parent, or init, reaps it.
    await until("no process is left", generousMs, () => pids.every((pid) => !existsSync(`/proc/${pid}`)));
    expect(await Promise.all(Object.values(stack.ports).map(isListening))).not.toContain(true);
    for (const url of besides()) {
      await expect(fetch(url, { signal: AbortSignal.timeout(generousMs) })).rejects.toThrow();
    }
    const kept = [...new Map([...whileRunning, ...readStoredFiles(stack.stateDirectory)])];
    expect(kept.map(([path]) => path)).toEqual(
      expect.arrayContaining([
        "stack.lock",
        "routes.json5",
        "keys/signer",
        "keys/client",
        "log/sidecar.log",
        "facilitator.sqlite",
        "facilitator.sqlite-wal",
        "resource-server.sqlite",
        "pushgateway.data",
        "sidecar/upkeep.sqlite",
        "sidecar/last-good.conf",
        "sidecar/.sidecar.lock",
        "sidecar/.sidecar.lock.json",
        "sidecar/control/sidecar.sock",
        "node/bin/.node.conf.lock",
        "node/bin/.node.conf.lock.json",
      ]),
    );
    expect(kept.filter(([, mode]) => mode !== "600" && mode !== "700")).toEqual([]);
  });
}
