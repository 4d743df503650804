import type { LogEventTable } from "./event-row.ts";

/** Events of the payment channels of a resource server. */
export const channelEvents = {
  "channels-claimed": {
    level: "info",
    means: "Charges of channels were claimed; they are yet to be transferred to their payee.",
  },
  "channels-settled": { level: "info", means: "Claimed amounts were transferred to their payee." },
  "channels-not-settled": {
    level: "warn",
    means: "Claimed amounts can't be transferred to their payee; `gatehouse.reason` has the cause. This is retried.",
    act: "If the amount is below the facilitator's minimum, no action is needed: it will grow.",
    runbook: "rejections-unusual",
  },
  "channel-not-claimed": {
    level: "error",
    means: "A claim was rejected; `gatehouse.reason` has the cause. Its channels will be claimed again later.",
    act: "Compare the channel with the chain; its payer may have withdrawn.",
    runbook: "rejections-unusual",
  },
  "channel-key-missing": {
    level: "error",
    means:
      "Channels have charges that only the key of `gatehouse.authorizer` can claim, and this replica does not have it.",
    act: "Add that key to `channels.privateKey`, after the new one, before the channels' withdrawal delay ends.",
    runbook: "rejections-unusual",
  },
  "channel-claimed-elsewhere": {
    level: "error",
    means:
      "More was claimed from a channel than this ledger charged: another ledger uses the same `channels.privateKey`, so buyers can pay twice with one voucher; or this ledger was restored from a backup.",
    act: "Give each ledger its own `channels.privateKey`. After a restore, no action is needed.",
    runbook: "rejections-unusual",
  },
  "channels-not-claimed": {
    level: "warn",
    means: "Channels can't be claimed now: the ledger or the facilitator is not responding. They are claimed later.",
    act: "Check both before the channels' withdrawal delay ends.",
    runbook: "service-down",
  },
} as const satisfies LogEventTable;
