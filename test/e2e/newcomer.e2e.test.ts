import { expect, it, describe } from "vitest";
import { isListening } from "../support/free-ports.ts";
import { spawnStack, startStack } from "../support/running-stack.ts";
import { createServer } from "node:http";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";

describe("gatehouse stack --once", () => {
  it("brings everything up, pays for one request, shows each step and leaves nothing behind", async () => {
    await using stack = await spawnStack(["--once"]);
    expect(await stack.exited, stack.output()).toBe(0);
    const output = stack.output();
    for (const name of ["node", "pushgateway", "sidecar", "gateway", "facilitator", "resource-server"]) {
      expect(output).toMatch(new RegExp(`│ ${name} +│ http://127.0.0.1:\\d+`));
    }
    expect(output).toContain("402");
    expect(output).toContain('"scheme": "exact"');
    expect(output).toMatch(/"transaction": "0x[0-9a-f]{64}"/);
    expect(output).toContain('"network": "eip155:1672"');
    expect(output).toContain('"payer": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"');
    expect(output).toContain("0.01 USDC more");
    expect(await Promise.all(Object.values(stack.ports).map(isListening))).not.toContain(true);
  });

  it("never prints a key or a signature, on the terminal or in a log", async () => {
    await using stack = await startStack();
    const logs = ["sidecar", "facilitator", "resource-server", "upstream", "pushgateway"].map((name) =>
      readFileSync(`${stack.stateDirectory}/log/${name}.log`, "utf8"),
    );
    const printed = [stack.output(), ...logs].join("\n");
    expect(printed).not.toContain("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
    expect(printed).not.toContain("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    expect(printed).not.toMatch(/0x[0-9a-fA-F]{130}/);
  });
});

describe("gatehouse stack", () => {
  it("stops everything within 5 s of Ctrl-C", async () => {
    await using stack = await startStack();
    const pressed = performance.now();
    expect(await stack.stop()).toBe(0);
    expect(performance.now() - pressed).toBeLessThan(5_000);
    expect(await Promise.all(Object.values(stack.ports).map(isListening))).not.toContain(true);
  });

  it("names a taken port and its setting before anything starts", async () => {
    const squatter = createServer();
    squatter.listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const { port } = squatter.address() as AddressInfo;
    await using stack = await spawnStack(["--once"], { GATEHOUSE_FACILITATOR_LISTEN_PORT: String(port) });
    expect(await stack.exited).toBe(1);
    expect(stack.output()).toContain(
      `port ${port} on 127.0.0.1, wanted by the facilitator, is taken; stop what uses it or set GATEHOUSE_FACILITATOR_LISTEN_PORT to another port.`,
    );
    expect(stack.output()).not.toContain("ready after");
    squatter.close();
  });
});
