import { StartupError } from "#daemon/process/startup-error.ts";
import { decimalsMax } from "#x402/price.ts";
import type { AcceptedAsset } from "#x402/signed-payment.ts";
import { computeDomainSeparator } from "#x402/typed-data.ts";
import type { Hex } from "#x402/hex.ts";
import type { Chain } from "./chain.ts";
import { decimalsCall, domainCall, domainSeparatorCall, labelCall, versionCall } from "./token.ts";

/** Chain of a token. */
type TokenChain = Readonly<{ chainId: number; chain: Pick<Chain, "simulate"> }>;

/**
 * Checks that a token matches the settings and returns its decimals; undefined if it has none.
 *
 * @throws {StartupError} with the token's own EIP-712 domain when that differs.
 */
export async function checkToken(asset: AcceptedAsset, { chainId, chain }: TokenChain): Promise<number | undefined> {
  const { address, name, version, separator } = asset;
  const read = async (data: Hex) => {
    const answer = await chain.simulate({ to: address, data });
    return answer.ok ? (answer.result as Hex) : undefined;
  };
  const found = await read(domainSeparatorCall);
  if (found === "0x") throw new StartupError(`there is no token at ${address} on chain ${chainId}; correct assets.`);
  // A token without DOMAIN_SEPARATOR() reverts; then only a payment can verify name and version.
  if (found === undefined || found === separator) {
    const decimals = Number((await read(decimalsCall)) ?? Number.NaN);
    return decimals <= decimalsMax ? decimals : undefined;
  }
  const own = (await readDomains(read)).find(
    (domain) => computeDomainSeparator({ address, chainId, ...domain }) === found,
  );
  const correction =
    own === undefined ? "correct assets" : `the token has name "${own.name}", version "${own.version}"; correct assets`;
  throw new StartupError(
    `the token at ${address} on chain ${chainId} does not have the EIP-712 domain name "${name}", version "${version}": ${correction}.`,
  );
}

type Domain = Readonly<{ name: string; version: string }>;

/**
 * Reads the possible domains of a token: from EIP-5267, otherwise from its name and version; older forms of USDC have
 * only the name.
 */
async function readDomains(read: (data: Hex) => Promise<Hex | undefined>): Promise<readonly Domain[]> {
  const { decode } = await import("ox/AbiParameters");
  const readText = async (call: Hex) => {
    const data = await read(call);
    return data === undefined || data === "0x" ? undefined : decode([{ type: "string" }], data)[0];
  };
  const said = await read(domainCall);
  if (said !== undefined && said !== "0x") {
    const [, name, version] = decode([{ type: "bytes1" }, { type: "string" }, { type: "string" }], said);
    return [{ name, version }];
  }
  const [name = "", version] = await Promise.all([readText(labelCall), readText(versionCall)]);
  return (version === undefined ? ["1", "2"] : [version]).map((each) => ({ name, version: each }));
}
