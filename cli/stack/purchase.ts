import { type Address, type Hex, createPublicClient, erc20Abi, formatUnits, http } from "viem";
import { pay } from "#client/pay.ts";
import type { Paint } from "#daemon/command-line/command-output.ts";
import { StartupError } from "#daemon/process/startup-error.ts";

/** An order for one resource: the resource's URL, token and payee, and the paying client. */
export type Purchase = Readonly<{
  url: string;
  network: string;
  token: Address;
  payee: Address;
  clientKey: Hex;
  /** JSON-RPC endpoint for reading balances: the node itself. */
  rpcUrl: string;
  /** Max price that the client accepts, in whole tokens, e.g. `0.05`. */
  maxAmount: string;
  timeoutMs: number;
  verbose: boolean;
  /** Return the document of `gatehouse pay --json`, and don't print the resource. */
  json: boolean;
}>;

type Output = Readonly<{ write(text: string | Uint8Array): unknown }>;

/**
 * Buys one resource and prints each step, with the payee's balance before and after. With `json`, returns the document of `gatehouse pay
 * --json`.
 *
 * @throws {StartupError} when the resource is not delivered, or the payee did not receive its price.
 */
export async function purchase(
  order: Purchase,
  { stdout, paint }: Readonly<{ stdout: Output; paint: Paint }>,
): Promise<unknown> {
  const { rpcUrl, token, payee, timeoutMs, json } = order;
  const client = createPublicClient({ transport: http(rpcUrl, { timeout: timeoutMs, retryCount: 0 }) });
  const balance = () =>
    client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [payee] });
  const balanceBefore = await balance();
  stdout.write(`The balance of the seller ${payee} is ${formatUsdc(balanceBefore)}\n\n`);
  const document: string[] = [];
  const status = await pay(
    { ...order, privateKey: order.clientKey, assets: [token] },
    json ? { stdout: { write: (text) => document.push(String(text)) }, stderr: stdout } : { stdout },
  );
  if (status !== 0) throw new StartupError(`the purchase of ${order.url} failed; see its output above.`);
  const after = await balance();
  stdout.write(
    `\nThe seller's balance is ${formatUsdc(after)}: ${paint("green", `${formatUsdc(after - balanceBefore)} more`)}\n`,
  );
  if (after <= balanceBefore) {
    throw new StartupError(`${order.url} was delivered, but the payee's balance on the chain did not increase.`);
  }
  return json ? JSON.parse(document.join("")) : undefined;
}

/** Formats an amount of a token with 6 decimals, e.g. `1000000.01 USDC`. */
function formatUsdc(amount: bigint): string {
  return `${formatUnits(amount, 6)} USDC`;
}
