import { expect, it, describe } from "vitest";
import { isListening } from "#daemon/testing/free-ports.ts";
import { spawnStack, startStack } from "../support/running-stack.ts";
import { createServer } from "node:http";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { findStackProcesses } from "../support/stack-processes.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

describe("gatehouse stack", () => {
  it("stops on Ctrl-C during startup", async () => {
    await using stack = await spawnStack();
    await until("the start is under way", generousMs, () => existsSync(`${stack.stateDirectory}/routes.json5`));
    expect([await stack.stop(), stack.output()]).toEqual([0, expect.stringContaining("stopping")]);
    expect(await Promise.all(Object.values(stack.ports).map(isListening))).not.toContain(true);
  });

  it("reports that its signer has no gas and the command that funds it, then starts, pays for a request, protects its folder, leaves no process after a kill, and restarts from its state with --once --json", async () => {
    const key = generatePrivateKey();
    const { address } = privateKeyToAccount(key);
    const signer = { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: key };
    await using poor = await spawnStack(["--once"], signer);
    expect([await poor.exited, poor.output()]).toEqual([
      1,
      expect.stringMatching(
        `nothing can be sold, because the facilitator can't settle: the balance of ${address} for gas is 0`,
      ),
    ]);
    expect(poor.output()).toMatch(
      new RegExp(`GATEHOUSE_DEVNET_CHAIN_FUND=${address} \\S.* stack --fresh --state-dir \\S+$`, "m"),
    );

    const { ports, stateDirectory } = poor;
    const folder = ["--state-dir", stateDirectory];
    const env = { ...signer, ...poor.env, GATEHOUSE_DEVNET_CHAIN_FUND: address };
    await using killedStack = await startStack(env, ["--verbose", "--fresh", ...folder]);
    const output = killedStack.output();
    for (const name of ["node", "pushgateway", "sidecar", "gateway", "facilitator", "resource-server"]) {
      expect(output).toMatch(new RegExp(`│ ${name} +│ http://127.0.0.1:\\d+`));
    }
    expect(output).toContain("402");
    expect(output).toContain('"scheme": "exact"');
    expect(output).toMatch(/"transaction": "0x[0-9a-f]{64}"/);
    expect(output).toContain('"network": "eip155:1672"');
    expect(output).toContain('"payer": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"');
    expect(output).toContain("0.01 USDC more");
    for (const path of ["/data", "/api/info"]) {
      expect((await fetch(`http://127.0.0.1:${ports.resourceServer}${path}`)).status).toBe(402);
    }
    await using secondStack = await spawnStack(["--once", "--fresh", ...folder]);
    expect([await secondStack.exited, secondStack.output()]).toEqual([
      1,
      expect.stringContaining("another stack uses"),
    ]);
    const pids = findStackProcesses({ ...killedStack, ports, stateDirectory });
    killedStack.process.kill("SIGKILL");
    await killedStack.exited;
    await until("every process has ended", generousMs, () =>
      [...pids.values()].every((pid) => !existsSync(`/proc/${pid}`)),
    );
    expect(await Promise.all(Object.values(ports).map(isListening))).not.toContain(true);
    await using next = await spawnStack(["--once", "--json", ...folder], env);
    const [status, document] = await Promise.all([next.exited, text(next.process.stdout!)]);
    expect(status, next.output()).toBe(0);
    expect(JSON.parse(document)).toMatchObject({
      parts: expect.arrayContaining([
        { name: "gateway", url: `http://127.0.0.1:${ports.gateway}`, readyAfterMs: expect.any(Number) },
      ]),
      purchase: { end: "delivered", payment: { price: "0.01" }, settlement: { success: true } },
      paidAfterMs: expect.any(Number),
    });
    expect(await Promise.all(Object.values(ports).map(isListening))).not.toContain(true);
    await writeFile(join(stateDirectory, "node/bin/node.conf"), "{ broken");
    await using brokenStack = await spawnStack(["--once", ...folder], env);
    expect([await brokenStack.exited, brokenStack.output()]).toEqual([
      1,
      expect.stringMatching(
        /node\.conf: line 1, column \d+: .*\nCheck it with .* config lint \S+node\.conf, or start over with .* stack --fresh --state-dir \S+, which deletes the chain\.$/m,
      ),
    ]);
  });

  it("keeps a folder that no stack created", async () => {
    const foreignDirectory = await mkdtemp(join(tmpdir(), "gatehouse-foreign-"));
    await writeFile(join(foreignDirectory, "thesis.txt"), "irreplaceable");
    await using third = await spawnStack(["--once", "--fresh", "--state-dir", foreignDirectory]);
    expect([await third.exited, third.output()]).toEqual([1, expect.stringContaining("was not created by a stack")]);
    expect(await readFile(join(foreignDirectory, "thesis.txt"), "utf8")).toBe("irreplaceable");
    await rm(foreignDirectory, { recursive: true });
  });

  it("writes nothing if a setting is rejected", async () => {
    await using stack = await spawnStack(["--once"], { GATEHOUSE_SIDECAR_LAG_RESTART: "perhaps" });
    expect([await stack.exited, stack.output()]).toEqual([
      1,
      expect.stringContaining('GATEHOUSE_SIDECAR_LAG_RESTART: found "perhaps"'),
    ]);
    expect(await readdir(stack.stateDirectory)).toEqual([]);
  });

  it("reports a port in use, and its setting, before starting or writing anything", async () => {
    const squatter = createServer();
    squatter.listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const { port } = squatter.address() as AddressInfo;
    await using stack = await spawnStack(["--once"], { GATEHOUSE_FACILITATOR_LISTEN_PORT: String(port) });
    expect(await stack.exited).toBe(1);
    expect(stack.output()).toContain(
      `port ${port} on 127.0.0.1, needed by the facilitator, is in use; stop the process that uses it, or set GATEHOUSE_FACILITATOR_LISTEN_PORT to another port.`,
    );
    expect(stack.output()).not.toContain("ready after");
    expect(await readdir(stack.stateDirectory)).toEqual([]);
    squatter.close();
  });
});
