import type { LogEventTable } from "./event-row.ts";

const asBug = "The devnet is for development only: restart it, and report a bug if this recurs.";

export const devnetEvents = {
  "pushgateway-is-stand-in": { level: "warn", act: "Install the real Pushgateway for anything but development." },
  "pushgateway-is-real": { level: "info" },
  "pushgateway-ended": {
    level: "fatal",
    act: "Read its last log lines; a supervisor restarts it.",
    runbook: "metrics-not-arriving",
  },
  "chain-lost": { level: "fatal", act: asBug },
  "devnet-call-failed": { level: "error", act: asBug },
  "devnet-message-failed": { level: "error", act: asBug },
  "block-not-made": { level: "error", act: asBug },
  "transaction-dropped": { level: "warn", act: "Send it again." },
  "anvil-left-behind": { level: "warn", act: "No action needed." },
  "metrics-not-pushed": {
    level: "warn",
    act: "Start the Pushgateway, or correct its address in node.conf.",
    runbook: "metrics-not-arriving",
  },
} as const satisfies LogEventTable;
