import {
  BaseError,
  createWalletClient,
  type Hex,
  type PrivateKeyAccount,
  type PublicClient,
  type Transport,
} from "viem";
import { canonicalContracts } from "#x402/contracts.ts";
import type { DeploymentPlan, PlannedStep } from "./deployment-plan.ts";

/** A deployment that ended early; the next run continues where it stopped. */
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
 * one is rejected, fails, or is not mined in time.
 */
export async function deployContracts({ steps, fees }: DeploymentPlan, parts: DeployParts): Promise<void> {
  const { chain, transport, account, report } = parts;
  const { address } = account;
  const count = (blockTag: "latest" | "pending") => chain.getTransactionCount({ address, blockTag });
  const [mined, sent] = await Promise.all([count("latest"), count("pending")]);
  if (sent > mined) {
    throw new DeploymentError(
      `${address} has transactions in flight (${sent - mined}); rerun this once they are mined`,
    );
  }
  const wallet = createWalletClient({ account, transport });
  const send = async (call: Readonly<{ to: Hex; value?: bigint; data?: Hex; gas?: bigint }>) =>
    waitForReceipt(chain, await wallet.sendTransaction({ ...call, ...fees, chain: null }));
  for (const { contract, creation, gas, fund } of steps) {
    if (creation.kind === "create2") {
      await send({ to: canonicalContracts.create2Deployer.address, data: creation.data, gas });
    } else {
      if (fund > 0n) await send({ to: creation.sender, value: fund });
      await sendPresigned(chain, creation);
    }
    if ((await chain.getCode({ address: contract.address })) === undefined) {
      throw new DeploymentError(`${contract.name} has no code at ${contract.address} after its transaction`);
    }
    report(`${contract.name} is deployed at ${contract.address}`);
  }
}

async function sendPresigned(
  chain: PublicClient,
  { raw, hash }: Extract<PlannedStep["creation"], { kind: "presigned" }>,
): Promise<void> {
  try {
    await chain.sendRawTransaction({ serializedTransaction: raw });
  } catch (error) {
    if (!(error instanceof BaseError)) throw error;
    // An interrupted run may have sent it.
    const known = await chain.getTransaction({ hash }).catch(() => undefined);
    if (known === undefined) {
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
