import type { Hex } from "viem";

/** Address under attack. Attackers connect from `127.0.3.x`, other callers from other addresses. */
export type Target = Readonly<{
  host: string;
  port: number;
  /** Only if the target is a resource server: its facilitator, and the chain and the token of its payments. */
  market?: Readonly<{ facilitatorPort: number; chainUrl: string; token: Hex }>;
}>;

/** An attack that needs only a connection to a public listener. Ends soon after its signal aborts, and never throws. */
export type Attack = Readonly<{
  name: string;
  /** Description of the attack, for a report. */
  what: string;
  /** Number of attackers. Each must reach the target at least once; otherwise, the attack tested nothing. */
  attackers: number;
  run: (target: Target, signal: AbortSignal) => Promise<void>;
}>;

export function formatAttackerAddress(number: number): string {
  return `127.0.3.${1 + (number % 250)}`;
}
