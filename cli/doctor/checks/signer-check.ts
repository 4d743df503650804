import { formatEther } from "viem/utils";
import { privateKeyToAddress } from "viem/accounts";
import { createJsonRpcClient, NoJsonRpcAnswerError } from "#daemon/http/json-rpc-client.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { checkLimits, type InspectedService } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { GasPayer } from "../known-service.ts";

const createFinding = createFindings("signer");

/** Number of settlements that the signer's balance must cover at the current gas price. */
const settlementsMin = 100n;
const gwei = 1_000_000_000;

/** Checks that the accounts that pay for settlements hold enough native currency. */
export const signerCheck: Check = async ({ services }) => {
  const payers = services.filter(({ service }) => service === "facilitator" || service === "resource-server");
  const found = await Promise.all(payers.map((service) => checkSigner(service)));
  return found.flat();
};

async function checkSigner(service: InspectedService): Promise<readonly Finding[]> {
  const { settings, service: name, readiness } = service;
  const gasPayers = settings?.ok === true ? settings.facts.gasPayers : [];
  const keys = gasPayers.flatMap((payer) => payer.privateKeys.map((key) => ({ key, payer })));
  if (keys.length > 0) return Promise.all(keys.map(({ key, payer }) => checkBalance(name, key, payer)));
  if (name !== "facilitator" || service.configuration === undefined) return [];
  const said = readiness?.checks["signer"];
  if (said === undefined)
    return [
      createFinding(name, "unknown", "its signer's balance is unknown: neither its settings nor its /readyz report it"),
    ];
  return [createFinding(name, said.ok ? "right" : "wrong", `its signer: ${said.message}`)];
}

async function checkBalance(service: string, key: Secret, payer: GasPayer): Promise<Finding> {
  const { rpcUrl, gasLimit, maxFeePerGasGwei } = payer;
  const address = deriveAddress(key.reveal());
  if (address === undefined)
    return createFinding(service, "wrong", "its key is not a secp256k1 private key; set the signer's key");
  const call = createJsonRpcClient({ url: rpcUrl, ...checkLimits });
  try {
    const [balance, price] = [await call("eth_getBalance", [address, "latest"]), await call("eth_gasPrice", [])];
    const [held, gasPrice] = [
      balance.ok ? parseBalance(balance.result) : undefined,
      price.ok ? parseBalance(price.result) : undefined,
    ];
    if (held === undefined || gasPrice === undefined) {
      return createFinding(
        service,
        "unknown",
        `${maskCredentials(rpcUrl)} does not report the balance of ${address} or the gas price`,
      );
    }
    const most = BigInt(Math.round(maxFeePerGasGwei * gwei));
    const cost = BigInt(gasLimit) * (gasPrice < most ? gasPrice : most);
    const settlements = cost === 0n ? settlementsMin : held / cost;
    const shown = `${address} holds ${formatEther(held)} in native currency`;
    if (held > 0n && settlements >= settlementsMin)
      return createFinding(
        service,
        "right",
        `its signer ${shown}, enough for ${settlementsMin} settlements at today's gas price`,
      );
    const wanted = formatEther(cost * settlementsMin);
    return createFinding(
      service,
      "wrong",
      `its signer ${shown}, enough for ${settlements} settlements at today's gas price; top it up: ${wanted} is enough for ${settlementsMin}`,
    );
  } catch (error) {
    if (!(error instanceof NoJsonRpcAnswerError)) throw error;
    return createFinding(
      service,
      "unknown",
      `the balance of its signer ${address} can't be queried: ${maskCredentials(rpcUrl)} is not responding (${error.message})`,
    );
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
