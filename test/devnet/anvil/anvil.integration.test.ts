import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { pino } from "pino";
import type { Hex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { within } from "#daemon/time.ts";
import { startAnvil, type Anvil } from "#devnet/anvil/anvil.ts";
import { findParentGuard } from "#devnet/parent-guard.ts";
import type { ChainBlock } from "#devnet/anvil/chain.ts";

const mnemonic = "test test test test test test test test test test test junk";
const account = mnemonicToAccount(mnemonic, { addressIndex: 1 });

let stateDirectory: string;
beforeEach(async () => {
  stateDirectory = await makeTestDirectory();
});

const options = (more: Readonly<{ blockTimeSeconds?: number }> = {}) => ({
  chainId: 1672,
  blockTimeSeconds: 3_600,
  stateDirectory,
  ...more,
});

function start(more: Readonly<{ blockTimeSeconds?: number; now?: () => number }> = {}): Promise<Anvil> {
  const { now = Date.now, ...rest } = more;
  const log = pino({ level: "silent" });
  return startAnvil(options(rest), { log, signal: new AbortController().signal, now });
}

async function sign(nonce: number): Promise<Hex> {
  return account.signTransaction({
    type: "eip1559",
    chainId: 1672,
    nonce,
    gas: 21_000n,
    to: account.address,
    value: 1n,
    maxFeePerGas: 20_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  });
}

type Receipt = Readonly<{ blockNumber: Hex; blockHash: Hex; transactionIndex: Hex; status: Hex }>;
const receipt = (anvil: Anvil, hash: Hex) => anvil.request<Receipt | null>("eth_getTransactionReceipt", [hash]);
const genesis = (anvil: Anvil) => anvil.request<ChainBlock>("eth_getBlockByNumber", ["0x0", false]);
const head = (anvil: Anvil) => anvil.request<ChainBlock>("eth_getBlockByNumber", ["latest", false]);
const send = async (anvil: Anvil, nonce: number) => anvil.request<Hex>("eth_sendRawTransaction", [await sign(nonce)]);

async function startFunded(): Promise<Anvil> {
  const anvil = await start();
  await anvil.request("anvil_setBalance", [account.address, "0x21e19e0c9bab2400000"]);
  await anvil.checkpoint();
  return anvil;
}

test("produces the first block at once and holds no key", async () => {
  await using anvil = await start();
  expect((await head(anvil)).number).toBe("0x1");
  expect(await anvil.request("eth_accounts")).toEqual([]);
});

test("creates the same block 0 for a chain id at every start", async () => {
  let before: ChainBlock;
  {
    await using anvil = await start();
    before = await genesis(anvil);
  }
  expect(Number(before.timestamp)).toBe(Date.UTC(2023, 0, 1) / 1_000);
  await using again = await start();
  expect((await genesis(again)).hash).toBe(before.hash);
});

test("restores block hashes and receipts after a restart, and continues", async () => {
  let before: { hash: Hex; receipt: Receipt | null; head: ChainBlock };
  {
    await using anvil = await startFunded();
    const hash = await send(anvil, 0);
    await anvil.mine();
    before = { hash, receipt: await receipt(anvil, hash), head: await head(anvil) };
  }
  await using anvil = await start();
  expect(await receipt(anvil, before.hash)).toEqual(before.receipt);
  expect(await anvil.request("eth_getBlockByNumber", [before.head.number, false])).toEqual(before.head);
  expect(await anvil.request("eth_getBalance", [account.address, before.head.number])).not.toBe("0x0");
  expect(Number((await head(anvil)).number)).toBe(Number(before.head.number) + 1);
});

test("loses no accepted transaction, mined or pending, if anvil is killed with kill -9", async () => {
  let mined: { hash: Hex; receipt: Receipt | null };
  let waiting: Hex;
  {
    await using anvil = await startFunded();
    const hash = await send(anvil, 0);
    await anvil.mine();
    mined = { hash, receipt: await receipt(anvil, hash) };
    waiting = await send(anvil, 1);
    process.kill(anvil.pid, "SIGKILL");
    expect((await within("end of anvil", 5_000, anvil.ended)).message).toContain("SIGKILL");
    await expect(anvil.request("eth_blockNumber")).rejects.toThrow("no response from the chain to eth_blockNumber");
  }
  await using anvil = await start();
  const { blockNumber, transactionIndex, status } = mined.receipt!;
  expect(await receipt(anvil, mined.hash)).toMatchObject({ blockNumber, transactionIndex, status });
  await anvil.mine();
  expect(await receipt(anvil, waiting)).toMatchObject({ status: "0x1" });
});

function startInChild(): ChildProcess {
  const program = `
    import { startAnvil } from ${JSON.stringify(new URL("../../../devnet/anvil/anvil.ts", import.meta.url).href)};
    const log = { info() {}, warn() {}, error() {} };
    const options = ${JSON.stringify(options({ blockTimeSeconds: 0.05 }))};
    const anvil = await startAnvil(options, { log, signal: new AbortController().signal });
    console.log(JSON.stringify({ pid: anvil.pid, url: anvil.url }));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return child;
}

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "";
}

test("block numbers keep increasing and no anvil is left after repeated kill -9 of the node", async () => {
  let height = 0;
  for (let round = 0; round < 2; round += 1) {
    const child = startInChild();
    const [line] = (await within("start", 10_000, once(child.stdout!, "data"))) as [Buffer];
    const { pid, url } = JSON.parse(String(line)) as { pid: number; url: string };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
    const ask = async () =>
      Number(
        (
          (await (
            await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body })
          ).json()) as { result: Hex }
        ).result,
      );
    const atStart = await ask();
    expect(atStart).toBeGreaterThan(height);
    while (height < atStart + 3) height = await ask();
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    if (findParentGuard() === undefined) continue;
    const deadline = Date.now() + 5_000;
    while (isRunning(pid) && Date.now() < deadline) await new Promise((resolve) => setImmediate(resolve));
    expect(isRunning(pid)).toBe(false);
  }
  await using anvil = await start();
  expect(Number((await head(anvil)).number)).toBeGreaterThan(height);
});

test("rejects a second node on the same directory", async () => {
  await using _ = await start();
  await expect(start()).rejects.toThrow(/another node uses .*chain\.sqlite; stop it, or use another data/);
});

test("sets block timestamps to the wall clock, but never back", async () => {
  // The genesis block has the real time, so the simulated clock starts later.
  let nowMs = Date.now() + 60_000;
  await using anvil = await start({ now: () => nowMs });
  const begin = Number((await head(anvil)).timestamp);
  for (let blocks = 0; blocks < 50; blocks += 1) await anvil.mine();
  expect(Number((await head(anvil)).timestamp)).toBe(begin);
  nowMs += 3_000;
  expect(Number((await anvil.mine()).timestamp)).toBe(begin + 3);
  nowMs -= 3_600_000;
  expect(Number((await anvil.mine()).timestamp)).toBe(begin + 3);
});

test("produces blocks with alternating proposers and reports each in order", async () => {
  await using anvil = await start({ blockTimeSeconds: 0.05 });
  const blocks: ChainBlock[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = anvil.onBlock((block) => {
    blocks.push(block);
    if (blocks.length === 8) resolve();
  });
  await within("eight blocks", 10_000, promise);
  stop();
  const numbers = blocks.map(({ number }) => Number(number));
  expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
  expect(new Set(blocks.map((block) => block["miner"])).size).toBe(4);
});
