import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import {
  concat,
  createPublicClient,
  createWalletClient,
  getContractAddress,
  http,
  parseEther,
  parseGwei,
  toHex,
  type Hex,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startListening } from "#daemon/http/listening-sockets.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { runContractsCheck, runContractsDeploy, type DeployOptions } from "#facilitator/contracts/contracts-command.ts";
import { canonicalContracts, type CanonicalContract } from "#x402/contracts.ts";
import { createLog } from "#daemon/log/log.ts";
import { startAnvil, type Anvil } from "#devnet/anvil/anvil.ts";
import { retainedStatesMax } from "#devnet/anvil/anvil-process.ts";
import { createTemporaryFolder } from "../support/payments/shop.ts";
import { readShellBlocks } from "../support/readme-blocks.ts";
import { runInProcess } from "../support/command-in-process.ts";

// Made-up contracts, whose addresses are computed like those of the canonical ones.
const initCode = "0x60016000f3";
const { address: deployer } = canonicalContracts.create2Deployer;
const gasPrice = parseGwei("10");
const presignedGas = 80_000n;

let source: Anvil;
let target: Anvil;
let payer: ReturnType<typeof privateKeyToAccount>;
let privateKey: Hex;
beforeAll(async () => {
  const parts = { log: createLog({ service: "test", level: "silent" }), signal: new AbortController().signal };
  source = await startAnvil({ chainId: 1, blockTimeSeconds: 3_600 }, parts);
  target = await startAnvil({ chainId: 1672, blockTimeSeconds: 0.2 }, parts);
});
afterAll(async () => {
  await source?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  privateKey = generatePrivateKey();
  payer = privateKeyToAccount(privateKey);
  for (const chain of [source, target])
    await chain.request("anvil_setBalance", [payer.address, toHex(parseEther("1"))]);
});

let salts = 0;
function makeCreate2(name: string): Readonly<{ contract: CanonicalContract; data: Hex }> {
  const salt = toHex((salts += 1), { size: 32 });
  const address = getContractAddress({ opcode: "CREATE2", from: deployer, salt, bytecode: initCode });
  return { contract: { name, address, uses: [] }, data: concat([salt, initCode]) };
}

async function makePresigned(name: string, changes: Readonly<{ gas?: bigint; data?: Hex }> = {}) {
  const account = privateKeyToAccount(generatePrivateKey());
  const gas = changes.gas ?? presignedGas;
  const transaction = { type: "legacy", nonce: 0, gas, gasPrice, data: changes.data ?? initCode } as const;
  const raw = await account.signTransaction(transaction);
  const address = getContractAddress({ from: account.address, nonce: 0n });
  return { contract: { name, address, uses: [] } as CanonicalContract, raw, sender: account.address };
}

const read = (chain: Anvil) => createPublicClient({ transport: http(chain.url), cacheTime: 0 });
const countSent = () => read(target).getTransactionCount({ address: payer.address });
const hasCode = async (...contracts: readonly CanonicalContract[]) =>
  Promise.all(contracts.map(async ({ address }) => (await read(target).getCode({ address })) !== undefined));

async function run(contracts: readonly CanonicalContract[], options: Partial<DeployOptions> = {}) {
  let printed = "";
  const print = (text: string) => void (printed += text);
  const status = await runContractsDeploy(
    {
      rpcUrl: target.url,
      contracts,
      privateKey,
      initCodes: [],
      copyFrom: [],
      yes: true,
      confirm: undefined,
      ...options,
    },
    { out: print, error: print, isColored: false },
  );
  return { status, printed };
}

test("deploys missing contracts from a file and another chain after confirmation, once", async () => {
  const [filed, copied, lacking] = [makeCreate2("Filed"), makeCreate2("Copied"), makeCreate2("Lacking")];
  const presigned = await makePresigned("Presigned");
  const wallet = createWalletClient({ account: payer, transport: http(source.url) });
  await wallet.sendTransaction({ to: presigned.sender, value: presignedGas * gasPrice, chain: null });
  await source.mine();
  await source.request("eth_sendRawTransaction", [presigned.raw]);
  await source.mine();
  await source.mine();
  await wallet.sendTransaction({ to: deployer, data: copied.data, gas: 200_000n, chain: null });
  for (let blocks = 0; blocks < 4; blocks += 1) await source.mine();

  const contracts = [presigned.contract, filed.contract, copied.contract, lacking.contract];
  const options = { initCodes: ["0x1234", filed.data] as const, copyFrom: [source.url] };
  const shown = await run(contracts, { ...options, yes: false });
  expect(shown.status).toBe(1);
  expect(shown.printed).toMatch(/Presigned at 0x\w+, for at most 0\.0008\d*:\n {2}send 0\.0008 to 0x\w+\n/);
  expect(shown.printed).toContain(`Filed at ${filed.contract.address}, for at most 0.00`);
  expect(shown.printed).toMatch(
    /Lacking at 0x\w+ can't be deployed: 127\.0\.0\.1:\d+: that chain does not have it either/,
  );
  expect(shown.printed).toMatch(/chain 1672: at most 0\.\d+ from 0x\w+, which has 1\n/);
  expect(shown.printed).toContain("nothing was sent. Without a terminal, pass --yes.");
  expect([await countSent(), await hasCode(...contracts)]).toEqual([0, [false, false, false, false]]);

  expect(await run(contracts, options)).toMatchObject({ status: 1 });
  expect([await countSent(), await hasCode(...contracts)]).toEqual([3, [true, true, true, false]]);
  const spent = parseEther("1") - (await read(target).getBalance(payer));
  expect(spent, "what was shown").toBeLessThanOrEqual(parseEther(/at most (\S+) from/.exec(shown.printed)?.[1] ?? "0"));

  const again = await run(contracts.slice(0, 3));
  expect(again).toEqual({ status: 0, printed: expect.stringContaining("all contracts are deployed") });
  expect(await countSent()).toBe(3);

  let table = "";
  const output = { out: (text: string) => void (table += text), error: () => undefined, isColored: false };
  expect(await runContractsCheck({ rpcUrl: target.url, contracts }, output)).toBe(1);
  expect(table).toMatch(/on chain 1672 [^]*Copied +│ 0x\w+ │ there [^]*Lacking +│ 0x\w+ │ missing/);
  expect(await runContractsCheck({ rpcUrl: target.url, contracts: contracts.slice(0, 3) }, output)).toBe(0);
});

test("reports a pruned node, or a proxy's page in one line, as the reason why a contract can't be copied", async () => {
  const { contract, data } = makeCreate2("Copied");
  const parts = { log: createLog({ service: "test", level: "silent" }), signal: new AbortController().signal };
  await using prunedAnvil = await startAnvil({ chainId: 1, blockTimeSeconds: 3_600 }, parts);
  await prunedAnvil.request("anvil_setBalance", [payer.address, toHex(parseEther("1"))]);
  const wallet = createWalletClient({ account: payer, transport: http(prunedAnvil.url) });
  await wallet.sendTransaction({ to: deployer, data, gas: 200_000n, chain: null });
  for (let blocks = 0; blocks <= retainedStatesMax; blocks += 1) await prunedAnvil.mine();
  const copied = await run([contract], { copyFrom: [prunedAnvil.url] });
  expect(copied.status).toBe(1);
  expect(copied.printed).toMatch(
    /can't be deployed: 127[\d.:]+: its node rejects queries of old blocks, and may be pruned \(the node's error: BlockOutOfRangeError: .+\); specify an archive node of that chain with --copy-from\n/,
  );
  await using proxy = await listenLocally(
    createServer((_request, response) => response.writeHead(404).end("<html>\n".repeat(1_000))),
  );
  expect((await run([contract], { copyFrom: [proxy.url] })).printed).toMatch(
    /can't be deployed: 127[\d.:]+: HTTP 404: <html>\nnothing/,
  );
});

test("continues a killed deployment without resending its transactions", async () => {
  const { contract, raw, sender } = await makePresigned("Presigned");
  // The killed run has funded the sender. Its presigned transaction arrives while this run queries the chain.
  await target.request("anvil_setBalance", [sender, toHex(presignedGas * gasPrice)]);
  const confirm = async () => {
    await target.request("eth_sendRawTransaction", [raw]);
    return true;
  };
  const ended = await run([contract], { initCodes: [raw], yes: false, confirm });
  expect(ended).toMatchObject({ status: 0, printed: expect.stringContaining("Presigned is deployed at") });
  expect(await countSent(), "it was not funded again").toBe(0);

  // This chain produces no blocks for now, and a transaction of the previous run is pending.
  const { contract: other, data } = makeCreate2("Other");
  const wallet = createWalletClient({ account: payer, transport: http(source.url) });
  await wallet.sendTransaction({ to: sender, chain: null });
  const { status, printed } = await run([other], { initCodes: [data], rpcUrl: source.url });
  expect(status).toBe(1);
  expect(printed).toContain(`${payer.address} has transactions in flight (1); rerun this once they are mined`);
});

test("succeeds although its transaction reverts, if another run has deployed the contract meanwhile", async () => {
  const { contract, data } = makeCreate2("Raced");
  const other = privateKeyToAccount(generatePrivateKey());
  await source.request("anvil_setBalance", [other.address, toHex(parseEther("1"))]);
  await source.mine();
  const confirm = async () => {
    const wallet = createWalletClient({ account: other, transport: http(source.url) });
    const fees = { maxFeePerGas: parseGwei("90"), maxPriorityFeePerGas: parseGwei("90") };
    await wallet.sendTransaction({ to: deployer, data, gas: 200_000n, ...fees, chain: null });
    return true;
  };
  const running = run([contract], { initCodes: [data], yes: false, confirm, rpcUrl: source.url });
  await until("both transactions are pending", generousMs, async () => {
    const { pending } = await source.request<{ pending: Hex }>("txpool_status");
    return Number(pending) === 2;
  });
  await source.mine();
  expect(await running).toMatchObject({ status: 0, printed: expect.stringContaining("Raced is deployed at") });
  expect(await read(source).getTransactionCount({ address: payer.address }), "its own was mined too").toBe(1);
});

test("sends no presigned transaction that would fail, and suggests another node", async () => {
  const poor = await makePresigned("Poor", { gas: 53_100n });
  expect((await run([poor.contract], { initCodes: [poor.raw] })).printed).toMatch(
    /its presigned transaction has 53100 gas, but this chain needs \d+\nnothing can be deployed/,
  );
  const cheap = await makePresigned("Cheap");
  await target.request("anvil_setNextBlockBaseFeePerGas", [toHex(parseGwei("100"))]);
  await target.mine();
  expect((await run([cheap.contract], { initCodes: [cheap.raw] })).printed).toContain(
    "pays 10 gwei for gas, but this chain now charges",
  );
  await target.request("anvil_setNextBlockBaseFeePerGas", [toHex(parseGwei("1"))]);
  await target.mine();

  await using strictNode = await startStrictNode(target.url);
  const { status, printed } = await run([cheap.contract], { initCodes: [cheap.raw], rpcUrl: strictNode.url });
  expect([status, await hasCode(cheap.contract)]).toEqual([1, [false]]);
  expect(printed).toMatch(
    /rejected the presigned transaction 0x\w+: only replay-protected .*--rpc\.allow-unprotected-txs/,
  );

  const needy = await run([makeCreate2("Any").contract], { privateKey: generatePrivateKey(), initCodes: [] });
  expect(needy.printed).toContain(
    "no --init-code file has its code; specify one, or use --copy-from with a chain that has it",
  );
});

test("runs the guide's commands to check and deploy, and sends nothing without confirmation", async () => {
  await using folder = await createTemporaryFolder();
  const keyFile = join(folder.path, "key");
  await writeFile(keyFile, `${privateKey}\n`);
  const type = (block = "") =>
    runInProcess(
      block
        .replace("http://127.0.0.1:18100", target.url)
        .replace("https://archive.example", source.url)
        .replace("signer.key", keyFile)
        .trim()
        .split(" ")
        .slice(2),
    );
  const [check, deploy] = await readShellBlocks("facilitator/README.md", "## Contracts that payment kinds need");
  const checked = await type(check);
  expect([checked.status, checked.stderr]).toEqual([1, ""]);
  expect(checked.stdout).toMatch(/x402UptoPermit2Proxy │ 0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002 │ missing +│ upto/);
  const deployed = await type(deploy);
  expect([deployed.status, deployed.stderr]).toEqual([1, ""]);
  expect(deployed.stdout).toMatch(
    /Permit2 at 0x\w+ can't be deployed: 127[\d.:]+: that chain does not have it either\n[^]*nothing can/,
  );

  await using website = await listenLocally(createServer((_request, response) => response.end("{}")));
  const elsewhere = await runInProcess(["contracts", "check", "--rpc-url", website.url]);
  expect([elsewhere.status, elsewhere.stdout]).toEqual([1, ""]);
  expect(elsewhere.stderr).toContain("this is not a JSON-RPC endpoint; correct --rpc-url");

  const away = await runInProcess(["contracts", "check", "--rpc-url", "http://127.0.0.1:1"]);
  expect(away).toMatchObject({
    status: 1,
    stdout: "",
    stderr: expect.stringMatching(/^contracts check: 127\.0\.0\.1:1: HTTP request failed\. bad port$/m),
  });

  await writeFile(keyFile, "no key");
  const { status, stderr } = await type(deploy);
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining(`contracts deploy: --key-file ${keyFile}: expected a private key: 64 hexadecimal digits`),
  ]);
});

/** A node that accepts no transaction without a chain id, like geth by default. */
async function startStrictNode(url: string) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const isUnprotected = /eth_sendRawTransaction","params":\["0xf8/.test(body.replaceAll(/"id":\d+,/g, ""));
    const message = "only replay-protected (EIP-155) transactions allowed over RPC";
    const error = JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(body).id, error: { code: -32_000, message } });
    response.setHeader("content-type", "application/json");
    response.end(
      isUnprotected
        ? error
        : await (await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } })).text(),
    );
  });
  await startListening(server, { host: "127.0.0.1", port: 0 });
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}
