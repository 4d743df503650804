import type { DatabaseSync } from "node:sqlite";
import type { Member } from "./members.ts";
import { getChain, type VirtualChains } from "./virtual-chain.ts";
import type { World } from "./world.ts";

/** Counts the channels with charges that are not yet claimed or not yet transferred to the payee. */
export const countOwed = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT count(*) AS owed FROM channels WHERE owed_since_ms IS NOT NULL").get()?.["owed"]);

/** At the end of a run, checks what was charged to channels, and what their members received. */
export function checkChannels(
  members: readonly Member[],
  database: DatabaseSync,
  world: World,
  chains: VirtualChains,
): void {
  const { report } = world;
  for (const [id, { head }] of chains) {
    const { claimed, settled } = head().state.payee;
    if (claimed !== settled)
      report(`${claimed - settled} of the seller's claims on ${id} are left in the channels' contract`);
  }
  const sold = database.prepare("SELECT fingerprint, amount FROM claims WHERE payer = ? AND network = ?");
  for (const { channel, wants, signed, hasLeft, isRefunded } of members) {
    const { balance, totalClaimed } = getChain(chains, channel.chain).head().state.channels.get(channel.id) ?? {
      balance: 0n,
      totalClaimed: 0n,
    };
    const name = `the channel of ${channel.wallet}`;
    const sales = sold.all(channel.config.payer.toLowerCase(), `eip155:${channel.chain}`);
    const ofChannel = sales.filter(({ fingerprint }) => wants.some((want) => want.fingerprint === fingerprint));
    const charged = ofChannel.reduce((sum, { amount }) => sum + BigInt(String(amount)), 0n);
    if (totalClaimed !== charged)
      report(`${totalClaimed} of ${name} are claimed, and what it paid for costs ${charged}`);
    if (totalClaimed > signed) report(`${totalClaimed} of ${name} are claimed, and ${signed} signed`);
    if (isRefunded && balance !== totalClaimed)
      report(`${balance - totalClaimed} of ${name} are left after its refund`);
    for (const want of wants) {
      const amounts = ofChannel
        .filter(({ fingerprint }) => want.fingerprint === fingerprint)
        .map(({ amount }) => BigInt(String(amount)));
      // Without an identifier, a member whose response was lost buys again.
      const most = want.identifier === undefined ? Math.max(1, want.sent + (want.got === undefined ? 1 : 0)) : 1;
      if (amounts.length > most) report(`${want.name} is charged ${amounts.length} times`);
      if (want.got === undefined && amounts.length > 0 && !hasLeft && want.sent === 0)
        report(`${want.name} is charged and not delivered`);
      if (want.got !== undefined && want.got > 0n && !amounts.includes(want.got))
        report(`${want.name} is delivered for ${want.got}, and ${amounts.join()} is charged`);
    }
  }
}
