import { privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { computeClaimsDigest, computeRefundDigest } from "#x402/batch-settlement/channel.ts";
import type { ChannelConfig, Claim } from "#x402/batch-settlement/payload.ts";
import { isSameHex, type Hex } from "#x402/hex.ts";

type AuthorizedChannel = Pick<ChannelConfig, "receiverAuthorizer">;

/** A seller's keys that authorize claims and refunds of its channels (specification, "Receiver authorizer"). They need no funds. */
export type ChannelAuthorizer = Readonly<{
  address: Hex;
  /** Returns whether the key of a channel is configured. A channel's authorizer never changes, so old channels need the old key after a rotation. */
  hasKey: (config: AuthorizedChannel) => boolean;
  signClaims: (claims: readonly Claim[], chainId: number) => Promise<Hex>;
  signRefund: (
    channel: Readonly<{ id: Hex; config: AuthorizedChannel }>,
    nonce: bigint,
    amount: bigint,
    chainId: number,
  ) => Promise<Hex>;
}>;

/** Creates the authorizer. `privateKey` is for new channels, `oldKeys` for channels that were opened with them. */
export function createChannelAuthorizer(privateKey: Secret, oldKeys: readonly Secret[] = []): ChannelAuthorizer {
  const accounts = [privateKey, ...oldKeys].map((key) => privateKeyToAccount(key.reveal() as Hex));
  const find = ({ receiverAuthorizer }: AuthorizedChannel) =>
    accounts.find(({ address }) => isSameHex(address, receiverAuthorizer));
  const sign = async (config: AuthorizedChannel | undefined, digest: Uint8Array): Promise<Hex> => {
    const account = config && find(config);
    if (account === undefined) throw new TypeError(`the key of ${config?.receiverAuthorizer} is not configured`);
    return account.sign({ hash: `0x${Buffer.from(digest).toString("hex")}` });
  };
  return {
    address: privateKeyToAddress(privateKey.reveal() as Hex),
    hasKey: (config) => find(config) !== undefined,
    signClaims: (claims, chainId) => sign(claims[0]?.voucher.channel, computeClaimsDigest(claims, chainId)),
    signRefund: ({ id, config }, ...refund) => sign(config, computeRefundDigest(id, ...refund)),
  };
}
