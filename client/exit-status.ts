export const exitStatus = {
  delivered: 0,
  "not-delivered": 1,
  usage: 2,
  "not-allowed": 3,
  "payment-rejected": 4,
  "perhaps-paid": 5,
} as const;

export type PayOutcome = keyof typeof exitStatus;

export const exitStatusHelp = [
  "Exit status:",
  "  0  delivered, paid or free; with --dry-run: shown, and within the given limits",
  "  1  not delivered and not paid: no connection, a server error before signing, or a payment that expired unused",
  "  2  an option is missing or wrong; nothing was signed",
  "  3  the price exceeds the limits (cap, token, network, scheme); nothing was signed",
  "  4  the server rejected the payment, the account's balance is too low, or Permit2 is not approved",
  "  5  paid or possibly paid, but not delivered: the message says how to check before you pay again",
  "  130, 143  stopped by SIGINT or SIGTERM before a payment was signed",
].join("\n");
