import { formatUnits } from "viem/utils";
import { privateKeyToAddress } from "viem/accounts";
import { createJsonRpcClient, NoJsonRpcAnswerError } from "#daemon/http/json-rpc-client.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { checkLimits, type InspectedService } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { GasPayer } from "../known-service.ts";

const look = createFindings("signer");

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
  const { settings, service: name } = service;
  if (settings?.ok === true) {
    const { gasPayer } = settings.facts;
    return gasPayer === undefined ? [] : [await checkBalance(name, gasPayer)];
  }
  if (name !== "facilitator" || service.configuration === undefined) return [];
  const held = service.metric("gatehouse_facilitator_signer_balance_native");
  if (held === undefined || Number.isNaN(held))
    return [look(name, "unknown", "what its signer holds is not known: neither its settings nor its metrics say")];
  if (held > 0) return [look(name, "right", `its signer holds ${held}`)];
  return [
    look(
      name,
      "wrong",
      "its signer holds nothing, so no payment settles; send it native currency, its log names the address",
    ),
  ];
}

async function checkBalance(service: string, payer: GasPayer): Promise<Finding> {
  const { privateKey, rpcUrl, nativeDecimals, gasLimit, maxFeePerGasGwei } = payer;
  const address = deriveAddress(privateKey.reveal());
  if (address === undefined)
    return look(service, "wrong", "its key is not a private key of secp256k1; set the signer's own");
  const call = createJsonRpcClient({ url: rpcUrl, ...checkLimits });
  try {
    const [balance, price] = [await call("eth_getBalance", [address, "latest"]), await call("eth_gasPrice", [])];
    const [held, gasPrice] = [
      balance.ok ? parseBalance(balance.result) : undefined,
      price.ok ? parseBalance(price.result) : undefined,
    ];
    if (held === undefined || gasPrice === undefined) {
      return look(
        service,
        "unknown",
        `${maskCredentials(rpcUrl)} does not report what ${address} holds, or what gas costs`,
      );
    }
    const most = BigInt(Math.round(maxFeePerGasGwei * gwei));
    const cost = BigInt(gasLimit) * (gasPrice < most ? gasPrice : most);
    const settlements = cost === 0n ? settlementsMin : held / cost;
    const shown = `${address} holds ${formatUnits(held, nativeDecimals)} of native currency`;
    if (held > 0n && settlements >= settlementsMin)
      return look(
        service,
        "right",
        `its signer ${shown}, enough for ${settlementsMin} settlements at today's gas price`,
      );
    const wanted = formatUnits(cost * settlementsMin, nativeDecimals);
    return look(
      service,
      "wrong",
      `its signer ${shown}, enough for ${settlements} settlements at today's gas price; send it more, ${wanted} is enough for ${settlementsMin}`,
    );
  } catch (error) {
    if (!(error instanceof NoJsonRpcAnswerError)) throw error;
    return look(
      service,
      "unknown",
      `what its signer ${address} holds can't be queried: ${maskCredentials(rpcUrl)} gives no answer (${error.message})`,
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
