import { formatEther } from "viem/utils";
import { privateKeyToAddress } from "viem/accounts";
import { createJsonRpcClient, NoJsonRpcResponseError } from "#daemon/http/json-rpc-client.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { checkLimits, type InspectedService } from "../inspect-service.ts";
import type { Judgement } from "../finding.ts";
import type { GasPayer } from "../known-service.ts";

/** Number of settlements that the signer's balance must cover at the current gas price. */
const settlementsMin = 100n;
const gwei = 1_000_000_000;

export async function* checkSigner(service: InspectedService): AsyncGenerator<Judgement> {
  const { settings, readiness } = service;
  const gasPayers = settings?.ok === true ? settings.facts.gasPayers : [];
  const keys = gasPayers.flatMap((payer) => payer.privateKeys.map((key) => ({ key, payer })));
  yield* await Promise.all(keys.map(({ key, payer }) => checkBalance(key, payer)));
  if (keys.length > 0 || service.service !== "facilitator" || service.configuration === undefined) return;
  const said = readiness?.checks["signer"];
  if (said !== undefined) yield [said.ok ? "ok" : "failed", `its signer: ${said.message}`];
  else yield ["unknown", "its signer's balance is unknown: neither its settings nor its /readyz report it"];
}

async function checkBalance(key: Secret, { rpcUrl, gasLimit, maxFeePerGasGwei }: GasPayer): Promise<Judgement> {
  const address = deriveAddress(key.reveal());
  if (address === undefined) return ["failed", "its key is not a secp256k1 private key; set the signer's key"];
  const call = createJsonRpcClient({ url: rpcUrl, ...checkLimits });
  const node = maskCredentials(rpcUrl);
  try {
    const [balance, price] = [await call("eth_getBalance", [address, "latest"]), await call("eth_gasPrice", [])];
    const held = balance.ok ? parseBalance(balance.result) : undefined;
    const gasPrice = price.ok ? parseBalance(price.result) : undefined;
    if (held === undefined || gasPrice === undefined) {
      return ["unknown", `${node} does not report the balance of ${address} or the gas price`];
    }
    const most = BigInt(Math.round(maxFeePerGasGwei * gwei));
    const cost = BigInt(gasLimit) * (gasPrice < most ? gasPrice : most);
    const settlements = cost === 0n ? settlementsMin : held / cost;
    const shown = `its signer ${address} holds ${formatEther(held)} in native currency`;
    if (held > 0n && settlements >= settlementsMin) {
      return ["ok", `${shown}, enough for ${settlementsMin} settlements at the current gas price`];
    }
    const fix = `top it up: ${formatEther(cost * settlementsMin)} is enough for ${settlementsMin}`;
    return ["failed", `${shown}, enough for ${settlements} settlements at the current gas price; ${fix}`];
  } catch (error) {
    if (!(error instanceof NoJsonRpcResponseError)) throw error;
    const why = `${node} is not responding (${error.message})`;
    return ["unknown", `the balance of its signer ${address} can't be queried: ${why}`];
  }
}

function deriveAddress(privateKey: string): string | undefined {
  try {
    return privateKeyToAddress(privateKey as `0x${string}`);
  } catch {
    // The key is zero, or not below the group order. The error is not rethrown, because it quotes the key.
    return undefined;
  }
}

function parseBalance(result: unknown): bigint | undefined {
  return typeof result === "string" && /^0x[0-9a-f]{1,64}$/i.test(result) ? BigInt(result) : undefined;
}
