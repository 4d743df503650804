import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import type { Hex } from "#x402/hex.ts";
import { buildFacilitatorEnvironment } from "../../support/facilitator/running-facilitator.ts";
import { findProgram } from "../../support/find-program.ts";
import { programsDirectory } from "../../support/programs/place.ts";
import { testAccount, type PaymentChain, type TestAccount } from "../../support/payments/payment-chain.ts";
import { startService } from "../../support/service-process.ts";
import { start } from "../gateway/proxies.ts";

export type Side = AsyncDisposable & Readonly<{ name: string; url: string; pid: number }>;

/** Chain on which all facilitators settle, and a directory for their files; our ledger, by default a new one, and signer. */
export type SideLocation = Readonly<{
  rpcUrl: string;
  token: Hex;
  folder: string;
  ledgerPath?: string;
  signer?: TestAccount;
}>;

/** Name of the side that is compared with the others. */
export const own = "ours";
/** Name of the side that the targets refer to. */
export const reference = "reference";

/** Variables that the installed command sets (`cli/gatehouse.sh`), so that freed memory is returned. */
const installed = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" };

/** Starts our facilitator as installed, compiled, with the default interval between receipt queries. */
export async function startOwn({
  rpcUrl,
  token,
  folder,
  ledgerPath = join(folder, `${Date.now()}.sqlite`),
  signer = testAccount(0),
}: SideLocation): Promise<Side> {
  const key = { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: signer.privateKey };
  const env = { ...installed, ...key, GATEHOUSE_FACILITATOR_SETTLEMENT_POLL_INTERVAL_MS: "100" };
  const program = join(programsDirectory, "cli/gatehouse.js");
  const settings = buildFacilitatorEnvironment({ rpcUrl, token, ledgerPath, env });
  const service = await startService("facilitator", settings, { program });
  const url = service.urls["facilitator"] ?? "";
  return { name: own, url, pid: service.pid, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

const referenceMain = new URL("reference.main.ts", import.meta.url).pathname;

/** Starts the published reference facilitator with viem's nonce manager. */
export async function startReference({ rpcUrl }: SideLocation): Promise<Side> {
  const env = { REFERENCE_RPC_URL: rpcUrl, REFERENCE_PRIVATE_KEY: testAccount(1).privateKey };
  const service = await startService(referenceMain, env, { program: process.execPath });
  const url = service.urls["facilitator"] ?? "";
  return { name: reference, url, pid: service.pid, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** Contract without whose code x402-rs does not start: it checks ERC-6492 signatures, which no payment here uses. */
const x402RsValidator = "0xdAcD51A54883eb67D95FAEb2BBfdC4a9a6BD2a3B";

/** Starts x402-rs, if it is on PATH. */
export async function startX402Rs(
  { anvil }: PaymentChain,
  { rpcUrl, folder }: SideLocation,
): Promise<Side | undefined> {
  const program = findProgram("x402-facilitator");
  if (program === undefined) return undefined;
  await anvil.request("anvil_setCode", [x402RsValidator, "0x60006000fd"]);
  const [port = 0] = await findFreePorts(1);
  const config = join(folder, "x402-rs.json");
  const chain = { eip1559: true, signers: [testAccount(9).privateKey], rpc: [{ http: rpcUrl }] };
  const schemes = [{ id: "v2-eip155-exact", chains: "eip155:*" }];
  await writeFile(config, JSON.stringify({ port, host: "127.0.0.1", chains: { "eip155:1672": chain }, schemes }));
  return { name: "x402-rs", ...(await start(program, ["--config", config], port)) };
}
