import type { LogEventTable } from "./event-row.ts";

const asBug = "The devnet is for development: start it again, and report it as a bug if it returns.";

/** Events of the devnet and the stand-in for the Pushgateway. */
export const devnetEvents = {
  "pushgateway-is-stand-in": {
    level: "warn",
    means: "This is a stand-in for Prometheus's Pushgateway, which keeps metrics in memory only.",
    act: "Install Prometheus's own for anything but development.",
  },
  "pushgateway-is-real": { level: "info", means: "This is Prometheus's own Pushgateway." },
  "pushgateway-ended": {
    level: "fatal",
    means: "Prometheus's Pushgateway ended, and this process with it.",
    act: "Read its last lines; a supervisor starts it again.",
    runbook: "metrics-not-arriving",
  },
  "chain-lost": { level: "fatal", means: "The devnet's chain ended, and this process with it.", act: asBug },
  "devnet-call-failed": { level: "error", means: "A call failed by the devnet's own fault.", act: asBug },
  "devnet-message-failed": { level: "error", means: "A WebSocket message could not be answered.", act: asBug },
  "devnet-heads-not-told": { level: "error", means: "Subscribers could not be notified of a block.", act: asBug },
  "block-not-made": { level: "error", means: "No block was made; the next one is tried at its time.", act: asBug },
  "transaction-dropped": {
    level: "warn",
    means: "A transaction that waited for a block could not be sent again after a restart.",
    act: "Send it again.",
  },
  "anvil-left-behind": {
    level: "warn",
    means: "An anvil that an earlier run left behind is ended.",
    act: "Nothing.",
  },
  "metrics-not-pushed": {
    level: "warn",
    means: "The devnet's node can't push its metrics; it tries on.",
    act: "Start the Pushgateway, or correct its address in node.conf.",
    runbook: "metrics-not-arriving",
  },
} as const satisfies LogEventTable;
