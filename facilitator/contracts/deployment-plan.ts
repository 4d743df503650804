import { formatEther, formatGwei, type Address, type PublicClient } from "viem";
import { canonicalContracts, type CanonicalContract } from "#x402/contracts.ts";
import type { Creation } from "./creation.ts";

/** Fees of each transaction, in wei per unit of gas; fixed when the plan is shown. */
type PlannedFees = Readonly<{ maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }>;

/** Transaction for one contract, and its max cost in wei, including `fund`. */
export type PlannedStep = Readonly<{
  contract: CanonicalContract;
  creation: Creation;
  gas: bigint;
  /** Wei that the sender of a presigned transaction is missing. */
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
  /** Returns the creation of a contract, or a phrase that explains why there is none. */
  findCreation: (address: Address) => Promise<Creation | string>;
}>;

/** Plans the deployment of those `contracts` that the chain lacks, in order. Sends nothing. */
export async function planDeployment(
  contracts: readonly CanonicalContract[],
  parts: PlanParts,
): Promise<DeploymentPlan> {
  const estimated = await parts.chain.estimateFeesPerGas();
  // Twice as much: the fees may rise while the operator reads the plan.
  const fees = { ...estimated, maxFeePerGas: 2n * estimated.maxFeePerGas };
  const { address: deployer } = canonicalContracts.create2Deployer;
  const steps: PlannedStep[] = [];
  const impossible: { contract: CanonicalContract; why: string }[] = [];
  let hasDeployer = (await parts.chain.getCode({ address: deployer })) !== undefined;
  for (const contract of contracts) {
    if ((await parts.chain.getCode({ address: contract.address })) !== undefined) continue;
    const step = await planStep(contract, fees, parts);
    if (typeof step === "string") impossible.push({ contract, why: step });
    else if (step.creation.kind === "create2" && !hasDeployer) {
      impossible.push({ contract, why: `the chain does not have the CREATE2 deployer (${deployer})` });
    } else steps.push(step);
    hasDeployer ||= typeof step !== "string" && contract.address === deployer;
  }
  return { fees, steps, impossible };
}

const transferGas = 21_000n;

async function planStep(
  contract: CanonicalContract,
  fees: PlannedFees,
  { chain, account, findCreation }: PlanParts,
): Promise<PlannedStep | string> {
  const creation = await findCreation(contract.address);
  if (typeof creation === "string") return creation;
  const needed = await chain.estimateGas({ account, data: creation.initCode });
  if (creation.kind === "create2") {
    // The CREATE2 deployer, perhaps not deployed yet, forwards 63/64 of the gas and needs some itself.
    const gas = (needed * 110n) / 100n;
    return { contract, creation, gas, fund: 0n, costMax: gas * fees.maxFeePerGas };
  }
  const { sender, gas, gasPrice } = creation;
  const [balance, used, { baseFeePerGas }] = await Promise.all([
    chain.getBalance({ address: sender }),
    chain.getTransactionCount({ address: sender }),
    chain.getBlock(),
  ]);
  if (used > 0) return `${sender} already used its first nonce on this chain for another transaction`;
  // It would fail, and it can be sent only once.
  if (needed > gas) return `its presigned transaction has ${gas} gas, but this chain needs ${needed}`;
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
  const left = plan.impossible.map(
    ({ contract, why }) => `${contract.name} at ${contract.address} can't be deployed: ${why}`,
  );
  return [...lines, ...left, ""].join("\n");
}
