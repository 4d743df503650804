import Table from "cli-table3";
import { BaseError, createPublicClient, formatEther, http, type Address, type Hex, type PublicClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { describeChainFailure } from "#x402/chain-failure.ts";
import { contractUses, type CanonicalContract } from "#x402/contracts.ts";
import { findCreationOnChain, readCreation, type Creation } from "./creation.ts";
import { DeploymentError, deployContracts, formatPlan, planDeployment, sumCost } from "./deployment.ts";

export type ContractsOptions = Readonly<{ rpcUrl: string; contracts: readonly CanonicalContract[] }>;

export type DeployOptions = ContractsOptions &
  Readonly<{
    privateKey: Hex;
    /** File contents: init code, a salt and init code, or a signed transaction. */
    initCodes: readonly Hex[];
    /** Archive-node URLs of the chains whose contract creations are copied. */
    copyFrom: readonly string[];
    yes: boolean;
    confirm: ((question: string) => Promise<boolean>) | undefined;
  }>;

const requestTimeoutMs = 30_000;

/** Prints which contracts a chain has; returns the exit status: 1 if one is missing or the chain can't be queried. */
export async function runContractsCheck(
  { rpcUrl, contracts }: ContractsOptions,
  output: CommandOutput,
): Promise<number> {
  return reportFailure("check", rpcUrl, output, async () => {
    const { chain } = connect(rpcUrl);
    const chainId: unknown = await chain.request({ method: "eth_chainId" });
    // If the response were JSON but not JSON-RPC, every contract would count as missing.
    if (typeof chainId !== "string") throw new DeploymentError("this is not a JSON-RPC endpoint; correct --rpc-url");
    const codes = await Promise.all(contracts.map(({ address }) => chain.getCode({ address })));
    const table = new Table({
      head: ["contract", "address", `on chain ${Number(chainId)}`, "for"],
      style: { head: [], border: [], compact: true },
    });
    for (const [index, { name, address, uses }] of contracts.entries()) {
      const purposes = uses.map((use) => contractUses[use]).join("; ") || "deploying others";
      table.push([name, address, codes[index] === undefined ? "missing" : "there", purposes]);
    }
    output.out(`${table.toString()}\n`);
    return codes.includes(undefined) ? exitStatus.error : exitStatus.clean;
  });
}

/** Shows and, if confirmed, sends the transactions that deploy missing contracts; 0 if none is missing. */
export async function runContractsDeploy(options: DeployOptions, output: CommandOutput): Promise<number> {
  return reportFailure("deploy", options.rpcUrl, output, async () => {
    const { chain, transport } = connect(options.rpcUrl);
    const account = privateKeyToAccount(options.privateKey);
    const findCreation = (address: Address) => findCreationIn(options, address);
    const plan = await planDeployment(options.contracts, { chain, account: account.address, findCreation });
    const end = plan.impossible.length === 0 ? exitStatus.clean : exitStatus.error;
    output.out(formatPlan(plan));
    if (plan.steps.length === 0) {
      output.out(end === exitStatus.clean ? "all contracts are deployed\n" : "nothing can be deployed\n");
      return end;
    }
    const [chainId, balance] = [await chain.getChainId(), await chain.getBalance(account)];
    const cost = sumCost(plan);
    output.out(
      `chain ${chainId}: at most ${formatEther(cost)} from ${account.address}, which has ${formatEther(balance)}\n`,
    );
    if (balance < cost) return reject(output, `fund ${account.address} with ${formatEther(cost - balance)} more`);
    if (!options.yes && (await options.confirm?.("Send these transactions? [y/N] ")) !== true) {
      return reject(
        output,
        `nothing was sent.${options.confirm === undefined ? " Without a terminal, pass --yes." : ""}`,
      );
    }
    await deployContracts(plan, { chain, transport, account, report: (line) => output.out(`${line}\n`) });
    return end;
  });
}

function connect(url: string) {
  const { url: address, headers } = parseHttpEndpoint(url);
  const transport = http(address, { timeout: requestTimeoutMs, retryCount: 1, fetchOptions: { headers } });
  return { transport, chain: createPublicClient({ transport, cacheTime: 0 }) as PublicClient };
}

async function findCreationIn(
  { initCodes, copyFrom }: Pick<DeployOptions, "initCodes" | "copyFrom">,
  address: Address,
): Promise<Creation | string> {
  for (const bytes of initCodes) {
    const creation = await readCreation(address, bytes);
    if (creation !== undefined) return creation;
  }
  let why = "no --init-code file has its code; specify one, or use --copy-from with a chain that has it";
  for (const url of copyFrom) {
    const creation = await findCreationOnChain(connect(url).chain, address).catch(describeFailure);
    if (typeof creation !== "string") return creation;
    why = `${new URL(url).host}: ${creation}`;
  }
  return why;
}

function reject(output: CommandOutput, message: string): number {
  output.error(`contracts deploy: ${message}\n`);
  return exitStatus.error;
}

type CommandRun = () => Promise<number>;

async function reportFailure(command: string, rpcUrl: string, output: CommandOutput, run: CommandRun): Promise<number> {
  try {
    return await run();
  } catch (error) {
    output.error(`contracts ${command}: ${new URL(rpcUrl).host}: ${describeFailure(error)}\n`);
    return exitStatus.error;
  }
}

/** Describes why a chain could not be queried, or why a deployment failed. Rethrows other errors. */
function describeFailure(error: unknown): string {
  if (error instanceof DeploymentError) return error.message;
  if (!(error instanceof BaseError)) throw error;
  return describeChainFailure(error);
}
