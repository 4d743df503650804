import type { LogEventTable } from "./event-row.ts";

const asBug = "The devnet is for development only: restart it, and report a bug if this recurs.";

/** Events of the devnet and the stand-in for the Pushgateway. */
export const devnetEvents = {
  "pushgateway-is-stand-in": {
    level: "warn",
    means: "This is a stand-in for Prometheus's Pushgateway; it keeps metrics in memory only.",
    act: "Install the real Pushgateway for anything but development.",
  },
  "pushgateway-is-real": { level: "info", means: "This is the real Prometheus Pushgateway." },
  "pushgateway-ended": {
    level: "fatal",
    means: "The Prometheus Pushgateway exited, and so did this process.",
    act: "Read its last log lines; a supervisor restarts it.",
    runbook: "metrics-not-arriving",
  },
  "chain-lost": { level: "fatal", means: "The devnet's chain exited, and so did this process.", act: asBug },
  "devnet-call-failed": {
    level: "error",
    means: "A call failed because of an internal error in the devnet.",
    act: asBug,
  },
  "devnet-message-failed": {
    level: "error",
    means: "A WebSocket message got no response because of an internal error.",
    act: asBug,
  },
  "devnet-heads-not-announced": { level: "error", means: "Subscribers could not be notified of a block.", act: asBug },
  "block-not-made": {
    level: "error",
    means: "No block was produced; the next one is attempted on schedule.",
    act: asBug,
  },
  "transaction-dropped": {
    level: "warn",
    means: "A pending transaction could not be resent after a restart.",
    act: "Send it again.",
  },
  "anvil-left-behind": {
    level: "warn",
    means: "An anvil process left over from an earlier run is terminated.",
    act: "No action needed.",
  },
  "metrics-not-pushed": {
    level: "warn",
    means: "The devnet's node can't push its metrics; it keeps retrying.",
    act: "Start the Pushgateway, or correct its address in node.conf.",
    runbook: "metrics-not-arriving",
  },
} as const satisfies LogEventTable;
