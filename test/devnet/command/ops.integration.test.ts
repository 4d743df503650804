import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { createPublicClient, createWalletClient, http, parseAbi, parseEther, publicActions, type Address } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { describe, expect, test, vi } from "vitest";
import { findRunningNode } from "#devnet/node/running-node.ts";
import { createTestNode } from "#devnet/testing/test-node.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { takeSlice } from "#test/support/run-size.ts";
import { generousMs } from "#daemon/testing/until.ts";

const mnemonic = "test test test test test test test test test test test junk";

const commandLines = [
  ["0.16.2", ["--c", "./node.conf"]],
  ["0.10.3", []],
] as const;

describe.each(takeSlice(commandLines, 2))("a v%s node", (version, config) => {
  test("starts, enables pruning and restarts with its own binaries", async () => {
    await using node = await createTestNode({ version });
    const startedNode = await node.run("ops", "start", "--config", "./node.conf");
    expect(startedNode).toMatchObject({ status: 0, errors: "" });
    expect(startedNode.output).toMatch(
      /^the node was started \(process \d+\): http:\/\/\S+, ws:\/\/\S+, block \d+, after \d+ ms\n$/,
    );

    const nodeBefore = await node.run("node_cli", "prune", ...config, "--get");
    expect(nodeBefore.output).toMatch(
      /^PruneInfo:\n {2}enable_auto_prune: 0\n {2}auto_prune_reserved_window: 100000\n {2}prune_reserved_version: 0\n {2}flushed_version: \d+\n {2}real_prune_reserved_version: 0\n$/,
    );
    expect((await node.run("node_cli", "prune", ...config, "--enable_auto_prune")).status).toBe(0);
    await node.blocks(3n);
    const enabledVersions = versions((await node.run("node_cli", "prune", ...config, "--get")).output);
    expect(enabledVersions.enable_auto_prune).toBe(1);

    const height = await node.height();
    expect((await node.run("ops", "stop", "--force")).output).toMatch(/^the node was stopped \(process \d+\)\n$/);
    expect((await node.run("ops", "start", "--config", "./node.conf")).status).toBe(0);
    expect(await node.height()).toBeGreaterThanOrEqual(height);
    await node.blocks(2n);
    const after = versions((await node.run("node_cli", "prune", ...config, "--get")).output);
    expect(after.enable_auto_prune).toBe(1);
    for (const name of ["prune_reserved_version", "flushed_version", "real_prune_reserved_version"]) {
      expect(after[name], name).toBeGreaterThan(enabledVersions[name] ?? 0);
    }
  });
});

test("a binary exits with 2 and the usage for a wrong command line, and with 1 for a failure", async () => {
  await using node = await createTestNode({ version: "0.16.2" });
  expect(await node.run("node_cli", "--version")).toEqual({ status: 0, output: "node_cli 0.16.2\n", errors: "" });
  const prune = await node.run("node_cli", "prune", "--get");
  expect(prune).toMatchObject({ status: 2, output: "" });
  expect(prune.errors).toMatch(/^node_cli: --c <config_path> is missing\.\nUsage:\n/);
  expect(await node.run("node_cli", "prune", "--c", "./node.conf", "--enable_auto_prune")).toEqual({
    status: 1,
    output: "",
    errors: "node_cli: no node runs in this workspace; start it first: ./ops start --config ./node.conf\n",
  });
});

describe("ops", () => {
  test("starts a funded chain once, despite a reused pid and a directory too deep for a socket; restarts it once the node or the chain was killed, without losing a mined transaction", async () => {
    await using node = await createTestNode({ version: "0.16.2", depth: "deep/".repeat(30) });
    const foreign = JSON.stringify({ pid: process.pid, startTicks: 1 });
    await writeFile(join(node.workspace.runDirectory, "node.pid"), foreign);
    // Stopping a stopped node is not an error.
    expect(await node.run("ops", "stop", "--force")).toEqual({
      status: 0,
      output: "the node is not running\n",
      errors: "",
    });
    expect((await node.run("ops", "start", "--config", "./node.conf")).status).toBe(0);
    expect((await node.run("node_cli", "prune", "--c", "./node.conf", "--get")).status).toBe(0);
    const client = createPublicClient({ transport: http(node.url) });
    const abi = parseAbi(["function balanceOf(address) view returns (uint256)"]);
    const holds = async (address: Address) => [
      await client.getBalance({ address }),
      await client.readContract({ address: tokenAddress, abi, functionName: "balanceOf", args: [address] }),
    ];
    const rich = [parseEther("10000"), 1_000_000_000_000n];
    expect(await holds(mnemonicToAccount(mnemonic, { addressIndex: 0 }).address)).toEqual(rich);
    expect(await holds(mnemonicToAccount(mnemonic, { addressIndex: 2 }).address)).toEqual(rich);
    expect(await holds("0x00000000000000000000000000000000000000fd")).toEqual(rich);
    expect(await holds(mnemonicToAccount(mnemonic, { addressIndex: 3 }).address)).toEqual([0n, 0n]);
    const again = await node.run("ops", "start", "--config", "./node.conf");
    expect(again.status).toBe(1);
    expect(again.errors).toContain(`the node is already running (process ${await node.pid()})`);

    const account = mnemonicToAccount(mnemonic, { addressIndex: 1 });
    const wallet = createWalletClient({ account, transport: http(node.url), pollingInterval: 50 }).extend(
      publicActions,
    );
    const to = "0x00000000000000000000000000000000000000aa";
    const hash = await wallet.sendTransaction({ chain: null, to, value: parseEther("1") });
    const receipt = await wallet.waitForTransactionReceipt({ hash });
    process.kill(await node.pid(), "SIGKILL");
    const restartedNode = await node.run("ops", "start", "--config", "./node.conf");
    expect(restartedNode).toMatchObject({ status: 0, errors: "" });
    expect((await wallet.getTransactionReceipt({ hash })).blockNumber).toBe(receipt.blockNumber);
    expect(await wallet.getBalance({ address: to })).toBe(parseEther("1"));
    await node.blocks(2n);
    const { runDirectory, dataDirectory } = node.workspace;
    const { pid } = JSON.parse(await readFile(join(dataDirectory, "chain", "anvil.pid"), "utf8")) as { pid: number };
    process.kill(pid, "SIGKILL");
    await vi.waitFor(async () => expect(await findRunningNode(runDirectory)).toBeUndefined(), { timeout: generousMs });
    expect(await readFile(join(runDirectory, "node.log"), "utf8")).toContain("the chain exited; stopping");
    expect((await node.run("ops", "start", "--config", "./node.conf")).status).toBe(0);
    await node.blocks(1n);
    expect((await node.run("ops", "stop")).status).toBe(0);
  });

  test("reports why the node did not start, and overwrites no other file through a symbolic link", async () => {
    await using node = await createTestNode({ version: "0.16.2" });
    const { configPath } = node.workspace;
    const text = await readFile(configPath, "utf8");
    await writeFile(configPath, text.slice(0, 200));
    const brokenNode = await node.run("ops", "start", "--config", "./node.conf");
    expect(brokenNode.status).toBe(1);
    expect(brokenNode.errors).toMatch(/^ops: \S+node\.conf: line \d+, column \d+: .*expected JSON5\.\n$/);

    await writeFile(configPath, text);
    const port = Number(new URL(node.url).port);
    const other = createServer().listen(port, "127.0.0.1");
    await once(other, "listening");
    const taken = await node.run("ops", "start", "--config", "./node.conf");
    other.close();
    expect(taken.status).toBe(1);
    expect(taken.errors).toContain(`port ${port} on 127.0.0.1 is in use`);
    expect(taken.errors).toContain("init_config.http_port");

    const victim = join(node.workspace.runDirectory, "victim");
    await writeFile(victim, "kept");
    for (const name of ["node.err", "node.log"]) {
      const output = join(node.workspace.runDirectory, name);
      await rm(output, { force: true });
      await symlink(victim, output);
      const startedNode = await node.run("ops", "start", "--config", "./node.conf");
      expect([startedNode.status, startedNode.errors]).toEqual([
        1,
        expect.stringContaining(`${output} is a symbolic link; remove it`),
      ]);
      await rm(output);
    }
    expect(await readFile(victim, "utf8")).toBe("kept");
  });
});

function versions(output: string): Record<string, number> {
  return Object.fromEntries(
    [...output.matchAll(/^ {2}(\w+): (\d+)$/gm)].map(([, name, value]) => [name, Number(value)]),
  );
}
