import {
  formatEther,
  formatGwei,
  type Address,
  type PublicClient,
  BaseError,
  createWalletClient,
  type Hex,
  type PrivateKeyAccount,
  type Transport,
} from "viem";
import { isNodeError } from "#x402/chain-failure.ts";
import { canonicalContracts, type CanonicalContract } from "#x402/contracts.ts";
import type { Creation } from "./creation.ts";

/** Fees of each transaction, in wei per unit of gas; fixed when the plan is shown. */
type PlannedFees = Readonly<{ maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }>;

/** Transaction for one contract, and its max cost in wei, including `fund`. */
export type PlannedStep = Readonly<{
  contract: CanonicalContract;
  creation: Creation;
  gas: bigint;
  /** Wei that the sender of a presigned transaction lacks. */
  fund: bigint;
  costMax: bigint;
}>;

export type DeploymentPlan = Readonly<{
  fees: PlannedFees;
  steps: readonly PlannedStep[];
  /** Missing contracts that can't be deployed, each with a phrase that explains why. */
  impossible: readonly Readonly<{ contract: CanonicalContract; why: string }>[];
}>;

export type PlanParts = Readonly<{
  chain: PublicClient;
  account: Address;
  findCreation: (address: Address) => Promise<Creation | string>;
}>;

/** Plans the deployment of those `contracts` that the chain lacks, in order. Sends nothing. */
export async function planDeployment(
  contracts: readonly CanonicalContract[],
  parts: PlanParts,
): Promise<DeploymentPlan> {
  const estimatedFees = await parts.chain.estimateFeesPerGas();
  // Doubled, because the fees may rise while the operator reads the plan.
  const fees = { ...estimatedFees, maxFeePerGas: 2n * estimatedFees.maxFeePerGas };
  const { address: deployer } = canonicalContracts.create2Deployer;
  const steps: PlannedStep[] = [];
  const impossibleSteps: { contract: CanonicalContract; why: string }[] = [];
  let hasDeployer = (await parts.chain.getCode({ address: deployer })) !== undefined;
  for (const contract of contracts) {
    if ((await parts.chain.getCode({ address: contract.address })) !== undefined) continue;
    const step = await planStep(contract, fees, parts);
    if (typeof step === "string") impossibleSteps.push({ contract, why: step });
    else if (step.creation.kind === "create2" && !hasDeployer) {
      impossibleSteps.push({ contract, why: `the chain does not have the CREATE2 deployer (${deployer})` });
    } else steps.push(step);
    hasDeployer ||= typeof step !== "string" && contract.address === deployer;
  }
  return { fees, steps, impossible: impossibleSteps };
}

const transferGas = 21_000n;

async function planStep(
  contract: CanonicalContract,
  fees: PlannedFees,
  { chain, account, findCreation }: PlanParts,
): Promise<PlannedStep | string> {
  const creation = await findCreation(contract.address);
  if (typeof creation === "string") return creation;
  const requiredGas = await chain.estimateGas({ account, data: creation.initCode });
  if (creation.kind === "create2") {
    // The CREATE2 deployer, perhaps not deployed yet, forwards 63/64 of the gas and needs some itself.
    const gas = (requiredGas * 110n) / 100n;
    return { contract, creation, gas, fund: 0n, costMax: gas * fees.maxFeePerGas };
  }
  const { sender, gas, gasPrice } = creation;
  const [balance, usedNonce, { baseFeePerGas }] = await Promise.all([
    chain.getBalance({ address: sender }),
    chain.getTransactionCount({ address: sender }),
    chain.getBlock(),
  ]);
  if (usedNonce > 0) return `${sender} already used its first nonce on this chain for another transaction`;
  // The transaction would fail, and it can be sent only once.
  if (requiredGas > gas) return `its presigned transaction has ${gas} gas, but this chain needs ${requiredGas}`;
  const baseFee = baseFeePerGas ?? 0n;
  if (baseFee > gasPrice) {
    return `its presigned transaction pays ${formatGwei(gasPrice)} gwei for gas, but this chain now charges ${formatGwei(baseFee)}; retry later`;
  }
  const fund = gas * gasPrice > balance ? gas * gasPrice - balance : 0n;
  return { contract, creation, gas, fund, costMax: fund === 0n ? 0n : fund + transferGas * fees.maxFeePerGas };
}

export function sumCost({ steps }: DeploymentPlan): bigint {
  return steps.reduce((sum, { costMax }) => sum + costMax, 0n);
}

export function formatPlan(plan: DeploymentPlan): string {
  const lines = plan.steps.flatMap(({ contract, creation, gas, fund, costMax }) => {
    const heading = `${contract.name} at ${contract.address}, for at most ${formatEther(costMax)}:`;
    if (creation.kind === "create2") {
      return [heading, `  call ${canonicalContracts.create2Deployer.address} with ${gas} gas`];
    }
    const funding = fund === 0n ? [] : [`  send ${formatEther(fund)} to ${creation.sender}`];
    return [heading, ...funding, `  send the presigned transaction ${creation.hash}`];
  });
  const impossibleLines = plan.impossible.map(
    ({ contract, why }) => `${contract.name} at ${contract.address} can't be deployed: ${why}`,
  );
  return [...lines, ...impossibleLines, ""].join("\n");
}

export class DeploymentError extends Error {
  override readonly name = "DeploymentError";
  readonly code = "deployment_failed";
}

export type DeployParts = Readonly<{
  chain: PublicClient;
  transport: Transport;
  account: PrivateKeyAccount;
  report: (line: string) => void;
}>;

const receiptTimeoutMs = 180_000;
const receiptPollMs = 250;

/**
 * Sends the plan's transactions one after the other, each with the gas and fees shown. Nothing is stored: the next plan
 * omits contracts that the chain already has.
 *
 * @throws {DeploymentError} when the account has pending transactions, which may be those of an interrupted run; when
 * one is rejected, fails, or is not mined in time, and the contract is missing then.
 */
export async function deployContracts({ steps, fees }: DeploymentPlan, parts: DeployParts): Promise<void> {
  const { chain, transport, account, report } = parts;
  const { address } = account;
  const count = (blockTag: "latest" | "pending") => chain.getTransactionCount({ address, blockTag });
  const [minedCount, sentCount] = await Promise.all([count("latest"), count("pending")]);
  if (sentCount > minedCount) {
    throw new DeploymentError(
      `${address} has transactions in flight (${sentCount - minedCount}); rerun this once they are mined`,
    );
  }
  const wallet = createWalletClient({ account, transport });
  const send = async (call: Readonly<{ to: Hex; value?: bigint; data?: Hex; gas?: bigint }>) =>
    waitForReceipt(chain, await wallet.sendTransaction({ ...call, ...fees, chain: null }));
  const deploy = async ({ creation, gas, fund }: PlannedStep) => {
    if (creation.kind === "create2")
      return send({ to: canonicalContracts.create2Deployer.address, data: creation.data, gas });
    if (fund > 0n) await send({ to: creation.sender, value: fund });
    return sendPresigned(chain, creation);
  };
  for (const step of steps) {
    const { name, address: at } = step.contract;
    const failure = await deploy(step).catch((error: unknown) => error);
    // This transaction may fail because another run has deployed the contract in the meantime.
    if ((await chain.getCode({ address: at })) === undefined)
      throw failure ?? new DeploymentError(`${name} has no code at ${at} after its transaction`);
    report(`${name} is deployed at ${at}`);
  }
}

async function sendPresigned(
  chain: PublicClient,
  { raw, hash }: Extract<PlannedStep["creation"], { kind: "presigned" }>,
): Promise<void> {
  try {
    await chain.sendRawTransaction({ serializedTransaction: raw });
  } catch (error) {
    if (!(error instanceof BaseError && isNodeError(error))) throw error;
    // An interrupted run may already have sent it.
    const knownTransaction = await chain.getTransaction({ hash }).catch(() => undefined);
    if (knownTransaction === undefined) {
      throw new DeploymentError(
        `the node rejected the presigned transaction ${hash}: ${error.details}. It has no chain id, which some nodes reject over RPC ` +
          "(geth accepts it with --rpc.allow-unprotected-txs): specify another node of this chain with --rpc-url and rerun this",
        { cause: error },
      );
    }
  }
  await waitForReceipt(chain, hash);
}

async function waitForReceipt(chain: PublicClient, hash: Hex): Promise<void> {
  const options = { hash, timeout: receiptTimeoutMs, pollingInterval: receiptPollMs, retryCount: 0 };
  const { status } = await chain.waitForTransactionReceipt(options);
  if (status !== "success") throw new DeploymentError(`transaction ${hash} reverted`);
}
